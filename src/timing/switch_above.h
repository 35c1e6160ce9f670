// Which switch an endpoint hangs on.
#pragma once

#include <vector>

#include "fabric/topology.h"

namespace weft {

// The first switch that a message from the vertex meets; kNoVertex: there is none within four hops.
// Cost: O(links).
VertexId switch_above(const Topology& topology, VertexId vertex);

// For each of the first `ranks` endpoints the number of its leaf: endpoints under the same switch
// have the same, counted from 0 in order of appearance. Empty: some endpoint is under no switch.
// Cost: O(links), and again for each endpoint that has no switch next to it.
std::vector<int> leaves_of(const Topology& topology, int ranks);

}  // namespace weft
