#include "flow/partition.h"

#include <gtest/gtest.h>

#include <numeric>

#include "base/random.h"

namespace weft {
namespace {

TEST(SliceSizes, FullSlicesAndARest) {
  EXPECT_EQ(slice_sizes(10, 4), (std::vector<double>{4, 4, 2}));
  EXPECT_EQ(slice_sizes(8, 4), (std::vector<double>{4, 4}));
  EXPECT_EQ(slice_sizes(3, 4), (std::vector<double>{3}));
  EXPECT_EQ(slice_sizes(3, kNoLimit), (std::vector<double>{3}));
  const std::vector<double> many = slice_sizes(1e12, 1);
  EXPECT_EQ(many.size(), kMostSlices);
  EXPECT_NEAR(std::accumulate(many.begin(), many.end(), 0.0), 1e12, 1);
}

TEST(GapBlocks, AGapIsFilledAndNoMore) {
  // 10 bytes per second; tensor 0 comes at 2 s and is needed first; 1 and 2 are ready before.
  const std::vector<ReadyTensor> tensors = {{2, 5, 0}, {0, 8, 1}, {0, 100, 2}};
  const auto blocks = gap_blocks(tensors, 10, 0, 1000);
  ASSERT_EQ(blocks.size(), 3u);
  ASSERT_EQ(blocks[0].size(), 2u) << "20 bytes fit before 2 s: all of 1, and 12 of 2";
  EXPECT_EQ(blocks[0][0].tensor, 1u);
  EXPECT_EQ(blocks[0][1].tensor, 2u);
  EXPECT_DOUBLE_EQ(blocks[0][1].bytes, 12);
  EXPECT_EQ(blocks[1][0].tensor, 0u);
  EXPECT_DOUBLE_EQ(blocks[2][0].bytes, 88);
}

TEST(GapBlocks, AShortGapIsLeftEmpty) {
  const std::vector<ReadyTensor> tensors = {{2, 5, 0}, {0, 50, 1}};
  const auto blocks = gap_blocks(tensors, 10, 1.5, 1000);
  ASSERT_EQ(blocks.size(), 2u) << "0.5 s are left after the overhead of 1.5 s: not worth it";
  EXPECT_EQ(blocks[0][0].tensor, 0u);
}

TEST(GapBlocks, SmallTensorsAreJoinedAtTheEnd) {
  const std::vector<ReadyTensor> tensors = {{0, 1, 0}, {0, 1, 1}, {0, 30, 2}, {0, 1, 3}};
  const auto blocks = gap_blocks(tensors, 10, 1, 1000);
  ASSERT_EQ(blocks.size(), 3u);
  EXPECT_EQ(blocks[0].size(), 2u) << "the third is worth a message of its own";
}

TEST(GapBlocks, EveryByteGoesOnceAndMessagesStayBelowTheLimit) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    std::vector<ReadyTensor> tensors(1 + random.below(20));
    for (ReadyTensor& tensor : tensors) {
      tensor = {random.uniform(), random.chance(0.1) ? 0 : random.uniform(1, 1e6),
                static_cast<double>(random.below(10))};
    }
    const double most = random.uniform(1e4, 1e6);
    std::vector<double> sent(tensors.size());
    for (const auto& block : gap_blocks(tensors, 1e6, random.uniform(0, 0.1), most)) {
      double bytes = 0;
      for (const Piece& piece : block) {
        EXPECT_GT(piece.bytes, 0);
        sent[piece.tensor] += piece.bytes;
        bytes += piece.bytes;
      }
      EXPECT_LE(bytes, most + 1);
    }
    for (std::size_t i = 0; i < tensors.size(); ++i) EXPECT_NEAR(sent[i], tensors[i].bytes, 1e-6);
  }
}

TEST(CreditWindow, OneMessageIsAlwaysAllowed) {
  CreditWindow window(10);
  EXPECT_TRUE(window.admits(50));
  window.take(50);
  EXPECT_FALSE(window.admits(1));
  window.give(50);
  window.take(4);
  EXPECT_TRUE(window.admits(6));
  EXPECT_FALSE(window.admits(7));
}

}  // namespace
}  // namespace weft
