// Collectives along given trees, each of which carries a part of the data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "collective/schedule.h"
#include "collective/tree.h"

namespace weft::collective {

struct PackedTree {
  Tree tree;
  std::uint64_t weight = 1;  // of its part of the data
};

// One stream per tree; in it `chunks` pieces follow each other, up towards the root (reduce,
// reduce-scatter), down from it (broadcast, all-gather), or up and down again (all-reduce).
// Requires: at least one tree, all over the same ranks; for broadcast and reduce all have the same
// root; for all-gather and reduce-scatter rank r is the root of the r-th k trees of k * ranks, all
// of the same weight.
Schedule along_trees(Operation operation, std::string algorithm,
                     const std::vector<PackedTree>& trees, int chunks);

}  // namespace weft::collective
