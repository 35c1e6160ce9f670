// Where the jobs of a round go.
#pragma once

#include <span>

#include "policy/draft.h"
#include "policy/values/value.h"

namespace weft {

// What a round decided for one job.
struct Seat {
  JobId job = kNoJob;
  const Offer* offer = nullptr;  // null: nothing
  bool keeps = false;            // the offer is the one it held before
  Allocation former;             // what it held before; empty: nothing
};

// Jobs that keep their offer keep their devices as far as possible. The others are placed from the
// largest gang to the smallest, each node's part where it displaces least: where enough is free,
// least to spare; else where the fewest devices must be taken from smaller gangs, which are then
// placed in their turn. Powers of two and whole nodes always pack this way (Sia, section 3.3).
// Gangs that do not are spread over what is free, or wait. Whoever gets nothing is stopped. Before
// all this, jobs that are resized in place give up devices, or get more beside those that they have
// if that is on no more nodes than a new start would be.
void place_displacing_least(Draft& draft, std::span<const Seat> seats);

// For policies that see one pool (Pollux): nodes count as pieces of the smallest node's devices.
// Jobs that keep their offer keep their devices; the others, largest first, get free pieces in
// order, a gang below a piece the fullest with room, the rest from wherever is most. Devices of
// another type than most of a gang's are no use to it and stay free.
void place_in_pool(Draft& draft, std::span<const Seat> seats);

// Devices of the smallest node.
std::uint32_t smallest_node(const Cluster& cluster);

}  // namespace weft
