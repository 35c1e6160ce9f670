#include "collective/schedule.h"

#include <gtest/gtest.h>

#include "collective/algorithms.h"
#include "collective/builder.h"
#include "collective/cursor.h"
#include "collective/tree.h"

namespace weft::collective {
namespace {

TEST(Walk, MovesOnACircle) {
  const Walk walk{.base = 10, .stride = 2, .first = 1, .advance = -1, .modulus = 3};
  EXPECT_EQ(walk.at(0), 12);
  EXPECT_EQ(walk.at(1), 10);
  EXPECT_EQ(walk.at(2), 14);
  EXPECT_EQ(walk.at(3), 12);
  EXPECT_EQ(walk.at(3'000'000'000), 12);
}

TEST(Cells, RunInBlocks) {
  const Cells cells{.base = 1, .modulus = 8, .count = 4, .block = 2, .step = 4};
  EXPECT_EQ(cells.at(0, 0), 1);
  EXPECT_EQ(cells.at(0, 1), 2);
  EXPECT_EQ(cells.at(0, 2), 5);
  EXPECT_EQ(cells.at(0, 3), 6);
}

TEST(Cells, WrapBackwards) {
  const Cells cells{.first = 1, .advance = 2, .modulus = 5, .count = 3, .step = -1};
  EXPECT_EQ(cells.at(0, 2), 4);
  EXPECT_EQ(cells.at(1, 0), 3);
  EXPECT_EQ(cells.at(1, 2), 1);
}

TEST(Cursor, PassesRepeatedAndEmptyEntries) {
  const Rounds rounds = {{.repeat = 0}, {.repeat = 2}, {.repeat = 0}, {.repeat = 1}, {.repeat = 0}};
  std::vector<std::int64_t> iterations;
  Cursor cursor(rounds);
  for (; !cursor.done(); cursor.next()) iterations.push_back(cursor.iteration());
  EXPECT_EQ(iterations, (std::vector<std::int64_t>{0, 1, 0}));
  EXPECT_EQ(cursor.number(), 3);
}

TEST(Schedule, CellsHoldTheChunksOfTheTable) {
  Schedule s = make_schedule(Operation::kReduceScatter, "", 3, 6);
  EXPECT_EQ(cells_in(s, 1, Buffer::kInput), 6);
  EXPECT_EQ(cells_in(s, 1, Buffer::kOutput), 2);
  EXPECT_EQ(chunk_at(s, 1, Buffer::kOutput, 1), 3);
  s.operation = Operation::kAllGather;
  EXPECT_EQ(cells_in(s, 2, Buffer::kInput), 2);
  EXPECT_EQ(chunk_at(s, 2, Buffer::kInput, 1), 5);
  s = make_schedule(Operation::kAllToAll, "", 3, 9);
  EXPECT_EQ(chunk_at(s, 1, Buffer::kInput, 2), 5);
  EXPECT_EQ(chunk_at(s, 2, Buffer::kOutput, 1), 5);
  s = make_schedule(Operation::kReduce, "", 3, 4, 1, {HelperKind::kSwitch});
  s.root = 1;
  EXPECT_EQ(cells_in(s, 0, Buffer::kOutput), 0);
  EXPECT_EQ(cells_in(s, 1, Buffer::kOutput), 4);
  EXPECT_EQ(cells_in(s, 3, Buffer::kInput), 0);
  EXPECT_EQ(endpoint_name(s, 3), "switch 0");
}

TEST(Overlay, PutsActivitiesInTheirRounds) {
  const Activity early{1, 3, send(to(1), moving(Buffer::kInput, 0, 1, 3))};
  const Activity late{2, 3, receive(to(2), moving(Buffer::kOutput, 0, 1, 3))};
  const Rounds rounds = overlay({early, late}, 6);
  std::vector<std::string> seen;
  for (Cursor cursor(rounds); !cursor.done(); cursor.next()) {
    std::string line;
    for (const Op& op : cursor.round().ops) {
      const Cells& cells = op.kind == Kind::kSend ? op.source : op.target;
      line +=
          (op.kind == Kind::kSend ? "s" : "r") + std::to_string(cells.at(cursor.iteration(), 0));
    }
    seen.push_back(line);
  }
  EXPECT_EQ(seen, (std::vector<std::string>{"", "s0", "s1r0", "s2r1", "r2", ""}));
}

int depth_of(const Tree& tree, int rank) {
  int depth = 0;
  for (int r = rank; tree.nodes[static_cast<std::size_t>(r)].parent >= 0; ++depth) {
    r = tree.nodes[static_cast<std::size_t>(r)].parent;
  }
  return depth;
}

TEST(TwoTrees, AreLowAndNobodyHasChildrenInBoth) {
  for (int ranks = 1; ranks <= 300; ++ranks) {
    const std::vector<Tree> trees = two_trees(ranks);
    int in_both = 0;
    for (int r = 0; r < ranks; ++r) {
      std::size_t with_children = 0;
      for (const Tree& tree : trees) {
        const TreeNode& node = tree.nodes[static_cast<std::size_t>(r)];
        EXPECT_LE(node.children.size(), 2U);
        EXPECT_EQ(node.depth, depth_of(tree, r));
        EXPECT_LE(1 << tree.height, ranks);
        with_children += node.children.empty() ? 0 : 1;
      }
      in_both += with_children == 2 ? 1 : 0;
    }
    EXPECT_EQ(in_both, 0) << ranks;
  }
}

TEST(Schedule, AnEntryIsALoop) {
  const Schedule ring = *generate("ring", {.ranks = 4096});
  for (const Program& program : ring.programs) EXPECT_EQ(program.streams[0].size(), 3U);
}

}  // namespace
}  // namespace weft::collective
