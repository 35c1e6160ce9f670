// The one verifier: proves that a schedule does what its operation says.
#pragma once

#include <cstdint>
#include <limits>

#include "base/result.h"
#include "collective/schedule.h"

namespace weft::collective {

struct VerifyOptions {
  // Up to 64 ranks, and for barriers, contributions are always tracked one by one. Beyond that they
  // are tracked as a sum of random 64-bit keys, one per rank, which a wrong schedule passes with
  // probability 2^-64; `exact` tracks them one by one there too, 64 ranks at a time.
  bool exact = false;
  // Schedules that take more steps (operations and cells touched, times passes), or have more
  // output and scratch cells, are refused.
  std::int64_t max_work = std::numeric_limits<std::int64_t>::max();
  std::int64_t max_cells = std::numeric_limits<std::int64_t>::max();
};

// Ensures: when it is ok, then for every way in which the endpoints may run relative to each other
//  - every operation ends, with no more buffering than `credits` declares;
//  - no operation touches a cell while another writes it, reads a cell before it is written, or
//    leaves the cells, endpoints and weights that exist;
//  - every output cell ends with its chunk, holding the contribution of every rank exactly once
//    (all-reduce, reduce-scatter, reduce) or that of its origin (the others); after a barrier every
//    rank has heard of every other;
//  - `lockstep` and `in_place` are true if they are declared.
// The first fault found is named by endpoint, stream, round and chunk.
// Cost: O(operations + cells touched) time, O(output and scratch cells of all endpoints) memory.
Status verify(const Schedule& schedule, const VerifyOptions& options = {});

// The steps that verify() takes in one pass, and the cells it needs memory for; both saturate.
// Requires: check_shape() is ok.  Cost: O(entries of all programs).
std::int64_t work_of(const Schedule& schedule);
std::int64_t cells_of(const Schedule& schedule);

// The part of verify() that looks at no iteration: limits, counts, and what belongs together.
Status check_shape(const Schedule& schedule);

}  // namespace weft::collective
