#include "sync/sampling.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace weft::sync {
namespace {

using testing::HasSubstr;

TEST(Participants, AreAsManyAsAskedAndDifferByRound) {
  std::vector<int> chosen(10);
  for (std::uint64_t round = 0; round < 1000; ++round) {
    const auto here = participants(7, round, 10, 0.3);
    EXPECT_EQ(std::count(here.begin(), here.end(), true), 3);
    EXPECT_EQ(here, participants(7, round, 10, 0.3));
    for (std::size_t i = 0; i < 10; ++i) chosen[i] += here[i] ? 1 : 0;
  }
  for (const int times : chosen) EXPECT_NEAR(times, 300, 75) << "5 standard deviations";
  const auto few = participants(7, 0, 10, 0.001);
  EXPECT_EQ(std::count(few.begin(), few.end(), true), 1) << "somebody always works";
}

TEST(DataSplit, TextReadsBackAndMistakesAreNamed) {
  for (const char* text : {"iid", "dirichlet:0.1", "shards:2", "quantity:0.5"}) {
    const auto split = parse_data_split(text);
    ASSERT_TRUE(split.ok()) << text;
    EXPECT_EQ(data_split_text(*split), text);
  }
  EXPECT_THAT(parse_data_split("dirichelt:0.1").error().text(), HasSubstr("did you mean"));
  for (const char* text : {"", "iid:1", "dirichlet", "dirichlet:0", "dirichlet:nan", "shards:1.5",
                           "shards:0", "quantity:-1", "dirichlet:1e9"}) {
    EXPECT_FALSE(parse_data_split(text).ok()) << text;
  }
}

// 10 labels, 1797 examples, as the digits have.
std::vector<std::uint32_t> labels() {
  std::vector<std::uint32_t> all(1797);
  for (std::uint32_t i = 0; i < all.size(); ++i) all[i] = i * 7 % 10;
  return all;
}

TEST(DataSplit, EveryExampleGoesToOneRank) {
  const auto all = labels();
  for (const char* text :
       {"iid", "dirichlet:0.01", "dirichlet:100", "shards:2", "quantity:0.05", "quantity:10"}) {
    for (const std::uint32_t ranks : {1U, 3U, 8U, 100U}) {
      const auto parts = split_data(*parse_data_split(text), all, ranks, 5);
      ASSERT_EQ(parts.size(), ranks);
      std::vector<int> seen(all.size());
      for (const auto& part : parts) {
        EXPECT_FALSE(part.empty()) << text;
        EXPECT_TRUE(std::is_sorted(part.begin(), part.end()));
        for (const std::uint32_t example : part) ++seen[example];
      }
      EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), static_cast<long>(all.size())) << text;
      EXPECT_EQ(parts, split_data(*parse_data_split(text), all, ranks, 5)) << "seeded";
      EXPECT_TRUE(ranks == 1 || parts != split_data(*parse_data_split(text), all, ranks, 6))
          << text;
    }
  }
}

// How many of a rank's examples have its commonest label, over all ranks.
double commonest_share(const std::vector<std::vector<std::uint32_t>>& parts) {
  const auto all = labels();
  double sum = 0;
  for (const auto& part : parts) {
    std::vector<int> counts(10);
    for (const std::uint32_t example : part) ++counts[all[example]];
    sum += *std::max_element(counts.begin(), counts.end()) / static_cast<double>(part.size());
  }
  return sum / static_cast<double>(parts.size());
}

TEST(DataSplit, SplitsAreAsUnevenAsTheySay) {
  const auto split = [](const char* text) {
    return split_data(*parse_data_split(text), labels(), 8, 1);
  };
  EXPECT_LT(commonest_share(split("iid")), 0.16);
  EXPECT_LT(commonest_share(split("dirichlet:1000")), 0.16);
  EXPECT_GT(commonest_share(split("dirichlet:0.1")), 0.3);
  EXPECT_GT(commonest_share(split("dirichlet:0.01")), 0.5);
  EXPECT_LT(commonest_share(split("quantity:1")), 0.25) << "labels stay alike";
  for (const auto& part : split("shards:1")) {
    std::set<std::uint32_t> kinds;
    for (const std::uint32_t example : part) kinds.insert(labels()[example]);
    EXPECT_LE(kinds.size(), 3U) << "a run of 225 of 180 each touches at most three labels";
  }
  std::size_t least = 2000, most = 0;
  for (const auto& part : split("quantity:0.5")) {
    least = std::min(least, part.size()), most = std::max(most, part.size());
  }
  EXPECT_GT(most, 4 * least);
}

// The mean and spread of a Dirichlet share: 1/n and √((n - 1) / (n² (n alpha + 1))).
TEST(DataSplit, DirichletHasItsMoments) {
  const std::vector<std::uint32_t> one_label(4000, 3);
  const double alpha = 0.5, n = 4;
  double sum = 0, squares = 0;
  constexpr int kDraws = 2000;
  for (int seed = 0; seed < kDraws; ++seed) {
    const auto parts = split_data(*parse_data_split("dirichlet:0.5"), one_label, 4,
                                  static_cast<std::uint64_t>(seed));
    const double share = static_cast<double>(parts[0].size()) / 4000;
    sum += share, squares += share * share;
  }
  const double mean = sum / kDraws;
  const double spread = std::sqrt(squares / kDraws - mean * mean);
  EXPECT_NEAR(mean, 1 / n, 0.03);
  EXPECT_NEAR(spread, std::sqrt((n - 1) / (n * n * (n * alpha + 1))), 0.02);
}

}  // namespace
}  // namespace weft::sync
