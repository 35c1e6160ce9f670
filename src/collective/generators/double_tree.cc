#include "collective/builder.h"
#include "collective/generators.h"
#include "collective/tree.h"

namespace weft::collective {
namespace {

// Up the tree and down again, one chunk behind the other: a node at depth d of a tree of height h
// receives chunk c from its children in round h-d-1+c, sends it up one round later, receives the
// sum in round h+d-1+c and sends it down one round later.
Rounds up_and_down(const TreeNode& node, int h, int base, int chunks) {
  const int d = node.depth;
  const auto next = [&](Buffer buffer) {
    Cells cells = moving(buffer, 0, 1, chunks);
    cells.base = base;
    return cells;
  };
  std::vector<Activity> todo;
  Cells held = next(Buffer::kInput);
  for (const int child : node.children) {
    todo.push_back({h - d - 1, chunks, receive_reduce(to(child), held, next(Buffer::kOutput))});
    held = next(Buffer::kOutput);
  }
  if (node.parent >= 0) {
    todo.push_back({h - d, chunks, send(to(node.parent), held)});
    todo.push_back({h + d - 1, chunks, receive(to(node.parent), next(Buffer::kOutput))});
  }
  for (const int child : node.children) {
    todo.push_back({h + d, chunks, send(to(child), next(Buffer::kOutput))});
  }
  return overlay(todo, 2 * h - 1 + chunks);
}

}  // namespace

Schedule double_tree_all_reduce(const Request& request) {
  const int p = request.ranks;
  const int chunks = request.chunks;
  Schedule schedule = make_schedule(Operation::kAllReduce, "double-binary-tree", p, 2 * chunks, 2);
  schedule.in_place = true;
  const std::vector<Tree> trees = two_trees(p);
  for (int r = 0; r < p; ++r) {
    auto& streams = schedule.programs[static_cast<std::size_t>(r)].streams;
    for (std::size_t t = 0; t < 2 && p > 1; ++t) {
      const TreeNode& node = trees[t].nodes[static_cast<std::size_t>(r)];
      streams[t] = up_and_down(node, trees[t].height, static_cast<int>(t) * chunks, chunks);
    }
    if (p == 1) streams[0] = alone(2 * chunks);
  }
  return schedule;
}

}  // namespace weft::collective
