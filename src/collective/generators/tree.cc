// Pipelines along chains and trees, and binomial trees.
#include <algorithm>

#include "collective/builder.h"
#include "collective/generators.h"
#include "collective/tree.h"

namespace weft::collective {
namespace {

Schedule broadcast_along(const Request& request, const char* name, int arity) {
  const int chunks = request.chunks;
  Schedule schedule = make_schedule(Operation::kBroadcast, name, request.ranks, chunks);
  schedule.root = request.root;
  schedule.in_place = true;
  const Tree tree = heap_tree(request.ranks, request.root, arity);
  const std::int64_t length = std::max(tree.height - 1 + chunks, 1);
  for (int r = 0; r < request.ranks; ++r) {
    const TreeNode& node = tree.nodes[static_cast<std::size_t>(r)];
    const Buffer held = node.parent < 0 ? Buffer::kInput : Buffer::kOutput;
    std::vector<Activity> todo;
    if (node.parent < 0) todo.push_back({0, 1, alone(chunks)[0].ops[0]});
    if (node.parent >= 0) {
      const Cells next = moving(Buffer::kOutput, 0, 1, chunks);
      todo.push_back({node.depth - 1, chunks, receive(to(node.parent), next)});
    }
    for (const int child : node.children) {
      todo.push_back({node.depth, chunks, send(to(child), moving(held, 0, 1, chunks))});
    }
    schedule.programs[static_cast<std::size_t>(r)].streams[0] = overlay(todo, length);
  }
  return schedule;
}

// Sums on their way to the root alternate between two scratch cells.
Schedule reduce_along(const Request& request, const char* name, int arity) {
  const int chunks = request.chunks;
  Schedule schedule = make_schedule(Operation::kReduce, name, request.ranks, chunks);
  schedule.root = request.root;
  schedule.in_place = true;
  const Tree tree = heap_tree(request.ranks, request.root, arity);
  const std::int64_t length = std::max(tree.height - 1 + chunks, 1);
  for (int r = 0; r < request.ranks; ++r) {
    const TreeNode& node = tree.nodes[static_cast<std::size_t>(r)];
    Program& program = schedule.programs[static_cast<std::size_t>(r)];
    const bool root = node.parent < 0;
    program.scratch.count = root || node.children.empty() ? 0 : 2;
    const Cells sum =
        root ? moving(Buffer::kOutput, 0, 1, chunks) : moving(Buffer::kScratch, 0, 1, 2);
    Cells held = moving(Buffer::kInput, 0, 1, chunks);
    std::vector<Activity> todo;
    for (const int child : node.children) {
      todo.push_back({tree.height - node.depth - 1, chunks, receive_reduce(to(child), held, sum)});
      held = sum;
    }
    if (!root) todo.push_back({tree.height - node.depth, chunks, send(to(node.parent), held)});
    program.streams[0] = request.ranks == 1 ? alone(chunks) : overlay(todo, length);
  }
  return schedule;
}

}  // namespace

Schedule chain_broadcast(const Request& request) { return broadcast_along(request, "chain", 1); }
Schedule tree_broadcast(const Request& request) { return broadcast_along(request, "tree", 2); }
Schedule chain_reduce(const Request& request) { return reduce_along(request, "chain", 1); }
Schedule tree_reduce(const Request& request) { return reduce_along(request, "tree", 2); }

}  // namespace weft::collective
