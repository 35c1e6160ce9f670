// Packs trees over ranks so that no link is used more than it must be.
#pragma once

#include <cstdint>
#include <vector>

#include "collective/schedule.h"
#include "timing/synthesis/rank_graph.h"

namespace weft {

// What is packed.
struct PackingTask {
  const RankGraph* graph = nullptr;
  collective::Operation operation = collective::Operation::kAllReduce;
  int root = 0;   // of broadcast and reduce
  int units = 1;  // trees; for all-gather and reduce-scatter: of each root
  // The least seconds per byte that are possible; how full a link is, is measured by it.
  double least_s_per_byte = 0;
};

struct Packing {
  std::vector<std::vector<int>> parents;  // by tree, then rank
  std::vector<std::uint64_t> weight;      // of each tree's part of the data
  double s_per_byte = 0;                  // of the fullest link, when all trees run at once
  std::vector<double> length;             // by link: what it cost in the end

  int trees() const { return static_cast<int>(parents.size()); }
};

// Trees are laid one after another, each the cheapest when a link costs exponentially in how full
// it is (multiplicative weights, as in Plotkin, Shmoys and Tardos, "Fast approximation algorithms
// for fractional packing and covering problems", 1995; Blink, MLSys 2020, packs trees that way);
// then each is taken out and laid again until that stops helping. For all-reduce a tree uses both
// directions of its edges: what goes up comes down. Equal trees are joined, and their weights added
// (not for all-gather and reduce-scatter, where every root has as many).
// Requires: operation is all-reduce, broadcast, reduce, all-gather or reduce-scatter; ranks >= 2.
// Cost: O(trees * (ranks^2 * path length)) for each of some passes.
Packing pack_trees(const PackingTask& task);

}  // namespace weft
