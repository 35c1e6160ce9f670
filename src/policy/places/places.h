// Placements beyond packing gangs on few nodes (policy/place.h).
#pragma once

#include <memory>

#include "policy/place.h"

namespace weft {

// Fragmentation gradient descent (Weng et al., "Beware of Fragmentation", ATC'23 §4): of all
// devices with room, those whose taking adds least to what the jobs to come could not use. Those
// jobs are taken to be like the last `window` submitted, by their `classes` most frequent demands.
// Gangs that need more than one node are packed. Cost: O(nodes with room x classes x devices per
// node).
std::unique_ptr<Place> fragmentation_place(std::uint32_t window, std::uint32_t classes);

// The fragmentation of one node (§3.2, eq. 1 to 3): how much of its free device time, in milli, a
// job of the class `wanted` could not use.
double fragmentation(const Ledger& ledger, NodeId node, const Configuration& wanted);

// Free devices of nodes drawn by job and node: what happens where nobody looks at the network.
// Shares of devices and gangs that must stay in a domain are packed.
std::unique_ptr<Place> random_place();

// In one leaf if one has room. Gangs that must cross leaves go where they and the jobs already
// there lose least device time to each other on `State::network`, by its model
// (fabric/job_network.h), of three proposals: fewest leaves, leaves that send least, lowest nodes.
// Without a network: as best-fit within leaves. Cost of a gang that crosses: O(links + jobs that
// span nodes).
std::unique_ptr<Place> network_place();

}  // namespace weft
