// Trees over ranks.
#pragma once

#include <vector>

namespace weft::collective {

struct TreeNode {
  int parent = -1;  // a rank; -1: the root
  int depth = 0;
  std::vector<int> children = {};  // ranks
};

struct Tree {
  std::vector<TreeNode> nodes;  // by rank
  int height = 0;               // the largest depth
};

// Fills depths, children and height from parents; -1 marks the root. Requires: they form a tree.
Tree tree_of_parents(const std::vector<int>& parents);

// Every node has `arity` children as long as there are ranks; arity 1 is a chain.
Tree heap_tree(int ranks, int root, int arity);

// Two trees of logarithmic height; no rank has children in both, so each can send and receive at
// full speed in the sum of the two (Sanders, Speck and Träff, "Two-tree algorithms for full
// bandwidth broadcast, reduction and scan", 2009).
std::vector<Tree> two_trees(int ranks);

}  // namespace weft::collective
