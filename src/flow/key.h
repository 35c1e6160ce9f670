// Hook 1 of a flow scheduler: who goes first. Keys of slices, flows, coflows or jobs, and their
// compression to the few levels that switches have.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace weft {

// Places by ascending key, from 0; equal keys share a place.
std::vector<std::uint32_t> dense_ranks(std::span<const double> keys);

// Two units that meet on a link, and what is lost when they get the same level.
struct Contention {
  std::uint32_t a = 0, b = 0;
  double loss = 0;  // from 0
};

struct Levels {
  std::vector<std::uint32_t> of;  // by unit; 0 is served first
  double kept = 0;                // sum of the losses avoided
};

// Gives every unit one of `levels` levels. Larger `priority` comes first, the lower index among
// equals.
// Ensures: of two units that meet, the one with more priority never has the later level. The sum of
// the losses avoided is the largest possible for the best of `orders` topological orders of the
// contention graph; all of it when the longest chain of meetings fits in the levels. Units that
// meet nobody get level 0.
// The idea, a cut of the contention graph along sampled topological orders, is that of Crux (Cao et
// al., SIGCOMM '24, its section on priority compression); the losses are the caller's.
// Requires: levels >= 1. Cost: O(orders (n² levels + pairs)).
Levels compress_levels(std::span<const double> priority, std::span<const Contention> pairs,
                       std::uint32_t levels, int orders = 64, std::uint64_t seed = 1);

}  // namespace weft
