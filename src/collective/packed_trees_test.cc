#include "collective/packed_trees.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "collective/algorithms.h"
#include "collective/schedule_json.h"
#include "collective/verify.h"

namespace weft::collective {
namespace {

// A tree whose ranks are joined to some rank before them in a circle that begins at the root.
Tree random_tree(int ranks, int root, Random& random) {
  std::vector<int> parents(static_cast<std::size_t>(ranks), -1);
  for (int place = 1; place < ranks; ++place) {
    const auto before = static_cast<int>(random.below(static_cast<std::uint64_t>(place)));
    parents[static_cast<std::size_t>((root + place) % ranks)] = (root + before) % ranks;
  }
  return tree_of_parents(parents);
}

TEST(PackedTrees, AreProvedForRandomTreesWeightsAndChunks) {
  Random random(11);
  for (int round = 0; round < 60; ++round) {
    const int ranks = 1 + static_cast<int>(random.below(9));
    const int chunks = 1 + static_cast<int>(random.below(5));
    for (const Operation operation :
         {Operation::kAllReduce, Operation::kBroadcast, Operation::kReduce, Operation::kAllGather,
          Operation::kReduceScatter}) {
      const bool scattered =
          operation == Operation::kAllGather || operation == Operation::kReduceScatter;
      const int each = 1 + static_cast<int>(random.below(3));
      const int fixed = static_cast<int>(random.below(static_cast<std::uint64_t>(ranks)));
      std::vector<PackedTree> trees;
      for (int t = 0; t < (scattered ? each * ranks : each); ++t) {
        const bool any = operation == Operation::kAllReduce;
        const int root = scattered ? t / each : (any ? (fixed + t) % ranks : fixed);
        const std::uint64_t weight = scattered ? 1 : 1 + random.below(4);
        trees.push_back({random_tree(ranks, root, random), weight});
      }
      const Schedule schedule = along_trees(operation, "trees", trees, chunks);
      const Status proved = verify(schedule);
      ASSERT_TRUE(proved.ok()) << name_of(operation) << " of " << ranks << ", round " << round
                               << ": " << proved.error().text();
      auto again = parse_schedule(write_schedule(schedule));
      ASSERT_TRUE(again.ok()) << again.error().text();
      EXPECT_EQ(*again, schedule);
    }
  }
}

TEST(PackedTrees, PartsAreAsLargeAsTheirWeights) {
  const Schedule schedule = along_trees(Operation::kAllReduce, "trees",
                                        {{heap_tree(4, 0, 1), 3}, {heap_tree(4, 2, 2), 1}}, 2);
  EXPECT_EQ(schedule.whole, 8u);
  EXPECT_EQ(schedule.chunks.list, (std::vector<std::uint64_t>{3, 3, 1, 1}));
  EXPECT_EQ(schedule.streams(), 2);
}

// Leaves of unequal size whose ranks are not next to each other.
TEST(InNetworkLeaves, MayBeAnyGroupsOfRanks) {
  Request request{.ranks = 6, .leaf_of = {0, 2, 2, 0, 5, 2}};
  auto schedule = generate("in-network", request);
  ASSERT_TRUE(schedule.ok()) << schedule.error().text();
  EXPECT_EQ(schedule->helpers.size(), 4u);
  EXPECT_TRUE(verify(*schedule).ok());
  request.leaf_of = {0, 1};
  EXPECT_FALSE(generate("in-network", request).ok());
  request.leaf_of = {0, 1, 2, 3, 4, 6};
  EXPECT_FALSE(generate("in-network", request).ok());
}

}  // namespace
}  // namespace weft::collective
