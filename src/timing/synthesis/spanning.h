// Cheapest trees over ranks. Parents by rank; the root's is -1.
#pragma once

#include <vector>

#include "timing/synthesis/rank_graph.h"

namespace weft {

// Cheapest spanning tree when an edge costs the same either way (Prim); of equal ones a shallow
// one. Rooted where it is least high.  Requires: cost is symmetric.  Cost: O(ranks^2).
std::vector<int> cheapest_tree(const PerPair& cost);

// Cheapest tree whose edges lead away from the root, cost.at(parent, child) each: Edmonds, "Optimum
// branchings" (1967).  Cost: O(ranks^2) per level of contraction, at most `ranks` levels.
std::vector<int> cheapest_arborescence(const PerPair& cost, int root);

// The pairs of ranks in the order in which Kruskal's method joins them: the edges of a cheapest
// tree, cheapest first.  Requires: cost is symmetric.
std::vector<std::pair<int, int>> joining_order(const PerPair& cost);

}  // namespace weft
