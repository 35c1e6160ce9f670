#include "collective/tree.h"

#include <algorithm>
#include <bit>

namespace weft::collective {
namespace {

// Fills depths and height from parents. Requires: the parents form a tree.
Tree finish(std::vector<TreeNode> nodes) {
  Tree tree{.nodes = std::move(nodes)};
  std::vector<int> order;
  for (int r = 0; r < static_cast<int>(tree.nodes.size()); ++r) {
    const int parent = tree.nodes[static_cast<std::size_t>(r)].parent;
    if (parent < 0) order.push_back(r);
    if (parent >= 0) tree.nodes[static_cast<std::size_t>(parent)].children.push_back(r);
  }
  for (std::size_t k = 0; k < order.size(); ++k) {
    const TreeNode& node = tree.nodes[static_cast<std::size_t>(order[k])];
    tree.height = std::max(tree.height, node.depth);
    for (const int child : node.children) {
      tree.nodes[static_cast<std::size_t>(child)].depth = node.depth + 1;
      order.push_back(child);
    }
  }
  return tree;
}

// In-order binary tree over 1 .. count: odd numbers are leaves; the root is the largest power of
// two. 0 stands for "no parent".
int in_order_parent(int v, int count) {
  if (v == static_cast<int>(std::bit_floor(static_cast<unsigned>(count)))) return 0;
  do {  // a parent beyond the end is passed over: its only subtree here takes its place
    const int low = v & -v;
    v = (v - low) | (2 * low);
  } while (v > count);
  return v;
}

}  // namespace

Tree tree_of_parents(const std::vector<int>& parents) {
  std::vector<TreeNode> nodes(parents.size());
  for (std::size_t r = 0; r < parents.size(); ++r) nodes[r].parent = parents[r];
  return finish(std::move(nodes));
}

Tree heap_tree(int ranks, int root, int arity) {
  std::vector<TreeNode> nodes(static_cast<std::size_t>(ranks));
  for (int place = 1; place < ranks; ++place) {
    nodes[static_cast<std::size_t>((place + root) % ranks)].parent =
        ((place - 1) / arity + root) % ranks;
  }
  return finish(std::move(nodes));
}

std::vector<Tree> two_trees(int ranks) {
  std::vector<TreeNode> first(static_cast<std::size_t>(ranks));
  std::vector<TreeNode> second(static_cast<std::size_t>(ranks));
  // In the second tree rank r plays the part of a rank of the other parity: its mirror image, or,
  // in an odd number of ranks, its neighbour.
  const auto other = [&](int v) { return ranks % 2 == 0 ? ranks - v : v % ranks; };
  for (int v = 1; v <= ranks; ++v) {
    const int parent = in_order_parent(v, ranks);
    first[static_cast<std::size_t>(v - 1)].parent = parent - 1;
    second[static_cast<std::size_t>(other(v))].parent = parent == 0 ? -1 : other(parent);
  }
  return {finish(std::move(first)), finish(std::move(second))};
}

}  // namespace weft::collective
