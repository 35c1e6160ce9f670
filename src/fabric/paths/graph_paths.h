// Shortest paths in any graph, for the topologies whose structure gives none.
#pragma once

#include <memory>
#include <vector>

#include "fabric/topology.h"

namespace weft {

// Every path of least cost is listed, in the order of the links that leave each vertex; there are
// 2^32 - 1 at most. `costs` holds a small whole number per link (empty: 1 each). Without
// `endpoints_forward` a path leads through no endpoint but its first and last.
// Cost: the first question about a destination O(vertices + links), later ones O(path length ×
// links per vertex); the trees of recent destinations are kept, within 64 MB.
std::shared_ptr<const Paths> make_graph_paths(const Topology& topology,
                                              std::vector<std::uint8_t> costs,
                                              bool endpoints_forward);

// Which vertices `start` reaches along the links, or (`backward`) which reach it.
std::vector<bool> reached_from(const Topology& topology, VertexId start, bool backward);

}  // namespace weft
