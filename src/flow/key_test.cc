#include "flow/key.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"

namespace weft {
namespace {

TEST(DenseRanks, EqualKeysShareAPlace) {
  EXPECT_EQ(dense_ranks(std::vector<double>{5, 1, 5, 3}), (std::vector<std::uint32_t>{2, 0, 2, 1}));
  EXPECT_TRUE(dense_ranks({}).empty());
}

double kept(const std::vector<std::uint32_t>& of, const std::vector<Contention>& pairs) {
  double sum = 0;
  for (const Contention& pair : pairs) sum += of[pair.a] != of[pair.b] ? pair.loss : 0;
  return sum;
}

bool keeps_order(const std::vector<std::uint32_t>& of, const std::vector<double>& priority,
                 const std::vector<Contention>& pairs) {
  return std::all_of(pairs.begin(), pairs.end(), [&](const Contention& pair) {
    const bool a_first = priority[pair.a] >= priority[pair.b];
    return a_first ? of[pair.a] <= of[pair.b] : of[pair.b] <= of[pair.a];
  });
}

// Every assignment of levels is tried.
double best_kept(const std::vector<double>& priority, const std::vector<Contention>& pairs,
                 std::uint32_t levels) {
  std::vector<std::uint32_t> of(priority.size());
  double best = 0;
  while (true) {
    if (keeps_order(of, priority, pairs)) best = std::max(best, kept(of, pairs));
    std::size_t i = 0;
    while (i < of.size() && ++of[i] == levels) of[i++] = 0;
    if (i == of.size()) return best;
  }
}

TEST(CompressLevels, IsAsGoodAsTryingEveryAssignment) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const std::size_t n = 2 + random.below(5);
    std::vector<double> priority;
    for (std::size_t i = 0; i < n; ++i) priority.push_back(100 * random.uniform());
    std::vector<Contention> pairs;
    for (std::uint32_t a = 0; a < n; ++a) {
      for (std::uint32_t b = a + 1; b < n; ++b) {
        if (random.chance(0.6)) pairs.push_back({a, b, 1 + random.uniform()});
      }
    }
    const auto levels = static_cast<std::uint32_t>(1 + random.below(3));
    const Levels got = compress_levels(priority, pairs, levels, 800);
    EXPECT_TRUE(keeps_order(got.of, priority, pairs));
    EXPECT_NEAR(got.kept, kept(got.of, pairs), 1e-9);
    EXPECT_NEAR(got.kept, best_kept(priority, pairs, levels), 1e-9);
  }
}

TEST(CompressLevels, ThoseWhoMeetNobodyAreFirst) {
  const Levels got =
      compress_levels(std::vector<double>{9, 1, 5}, std::vector<Contention>{{0, 2, 1}}, 2);
  EXPECT_EQ(got.of, (std::vector<std::uint32_t>{0, 0, 1}));
  EXPECT_EQ(got.kept, 1);
}

TEST(CompressLevels, OneLevelKeepsNothingApart) {
  const Levels got =
      compress_levels(std::vector<double>{2, 1}, std::vector<Contention>{{0, 1, 3}}, 1);
  EXPECT_EQ(got.of, (std::vector<std::uint32_t>{0, 0}));
  EXPECT_EQ(got.kept, 0);
}

}  // namespace
}  // namespace weft
