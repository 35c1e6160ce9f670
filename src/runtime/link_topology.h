// The links of a group as a network that the room `timing` runs schedules on.
#pragma once

#include "fabric/topology.h"
#include "runtime/chooser.h"

namespace weft::runtime {

// Rank r is endpoint r. Ranks of a host meet in a switch; hosts, whose ranks share one link, in
// another. Ensures: a message between two ranks takes the latency of their kind of pair, and all
// ranks sending at once to another host get the bandwidth that was measured so.
// Cost: O(ranks).
Topology link_topology(const GroupShape& shape);

}  // namespace weft::runtime
