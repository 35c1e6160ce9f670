#include "collective/packed_trees.h"

#include <algorithm>

#include "base/check.h"
#include "collective/builder.h"

namespace weft::collective {
namespace {

// Where the part of one tree lies at one rank.
struct Part {
  const TreeNode* node = nullptr;
  int height = 0;
  int chunks = 0;
  int input = 0, output = 0, scratch = 0;  // first cells

  Cells next(Buffer buffer) const {
    const bool sums_pass = buffer == Buffer::kScratch;  // they alternate between two cells
    Cells cells = moving(buffer, 0, 1, sums_pass ? 2 : chunks);
    cells.base = sums_pass ? scratch : (buffer == Buffer::kInput ? input : output);
    return cells;
  }
};

// A node at depth d of a tree of height h receives chunk c from its children in round h-d-1+c and
// sends it up one round later.
void add_children(const Part& part, Buffer sums, std::vector<Activity>& todo) {
  const TreeNode& node = *part.node;
  const int wait = part.height - node.depth;
  Cells held = part.next(Buffer::kInput);
  for (const int child : node.children) {
    const Cells sum = part.next(sums);
    todo.push_back({wait - 1, part.chunks, receive_reduce(to(child), held, sum)});
    held = sum;
  }
  if (node.parent >= 0) todo.push_back({wait, part.chunks, send(to(node.parent), held)});
}

// It receives chunk c from its parent in round start+d-1+c and sends it down one round later.
void add_down(const Part& part, int start, Buffer at_root, std::vector<Activity>& todo) {
  const TreeNode& node = *part.node;
  const int wait = start + node.depth;
  const Cells got = part.next(Buffer::kOutput);
  if (node.parent >= 0) todo.push_back({wait - 1, part.chunks, receive(to(node.parent), got)});
  const Cells held = node.parent < 0 ? part.next(at_root) : got;
  for (const int child : node.children) {
    todo.push_back({wait, part.chunks, send(to(child), held)});
  }
}

Op take_own(const Part& part) {
  return copy(range(Buffer::kInput, part.input, part.chunks),
              range(Buffer::kOutput, part.output, part.chunks));
}

Rounds rounds_of(Operation operation, const Part& part) {
  std::vector<Activity> todo;
  const int once = std::max(part.height - 1 + part.chunks, 1);
  const bool root = part.node->parent < 0;
  if (part.height == 0) return {{.ops = {take_own(part)}}};
  if (operation == Operation::kAllReduce) {
    add_children(part, Buffer::kOutput, todo);
    add_down(part, part.height, Buffer::kOutput, todo);
    return overlay(todo, part.height + once);
  }
  if (sums(operation)) {
    add_children(part, root ? Buffer::kOutput : Buffer::kScratch, todo);
  } else {
    if (root) todo.push_back({0, 1, take_own(part)});
    add_down(part, 0, Buffer::kInput, todo);
  }
  return overlay(todo, once);
}

bool scattered(Operation operation) {
  return operation == Operation::kAllGather || operation == Operation::kReduceScatter;
}

void set_weights(const std::vector<PackedTree>& trees, int chunks, Schedule& schedule) {
  const bool even = std::all_of(trees.begin(), trees.end(), [&](const PackedTree& t) {
    return t.weight == trees.front().weight;
  });
  if (even) return;
  schedule.whole = 0;
  for (const PackedTree& t : trees) {
    for (int c = 0; c < chunks; ++c) schedule.chunks.list.push_back(t.weight);
    schedule.whole += t.weight * static_cast<std::uint64_t>(chunks);
  }
}

}  // namespace

Schedule along_trees(Operation operation, std::string algorithm,
                     const std::vector<PackedTree>& trees, int chunks) {
  CHECK(!trees.empty() && chunks > 0);
  const int count = static_cast<int>(trees.size());
  const int ranks = static_cast<int>(trees.front().tree.nodes.size());
  Schedule schedule = make_schedule(operation, std::move(algorithm), ranks, count * chunks, count);
  schedule.in_place = true;
  set_weights(trees, chunks, schedule);
  const int per_root = scattered(operation) ? count / ranks * chunks : 0;
  for (int r = 0; r < ranks; ++r) {
    Program& program = schedule.programs[static_cast<std::size_t>(r)];
    std::vector<std::uint64_t> room;
    for (int t = 0; t < count; ++t) {
      const PackedTree& packed = trees[static_cast<std::size_t>(t)];
      const TreeNode& node = packed.tree.nodes[static_cast<std::size_t>(r)];
      Part part{&node, packed.tree.height, chunks, t * chunks, t * chunks, 0};
      if (node.parent < 0) {
        schedule.root = scattered(operation) || operation == Operation::kAllReduce ? 0 : r;
        if (operation == Operation::kAllGather) part.input -= r * per_root;
        if (operation == Operation::kReduceScatter) part.output -= r * per_root;
      }
      const bool passes = node.parent >= 0 && !node.children.empty();
      if (passes && sums(operation) && operation != Operation::kAllReduce) {
        part.scratch = static_cast<int>(room.size());
        room.insert(room.end(), 2, schedule.chunks.at(part.input));
      }
      program.streams[static_cast<std::size_t>(t)] = rounds_of(operation, part);
    }
    program.scratch.count = static_cast<std::int64_t>(room.size());
    if (!schedule.chunks.list.empty()) program.scratch.list = std::move(room);
  }
  return schedule;
}

}  // namespace weft::collective
