#include "flow/path_choice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace weft {
namespace {

TEST(PathChoice, EcmpIsEvenAndTheSameForTheSameLabel) {
  constexpr std::uint32_t kPaths = 8;
  std::vector<int> hits(kPaths, 0);
  for (std::uint32_t i = 0; i < 8000; ++i) {
    const FlowLabel flow{i % 40, i / 40 + 100, i % 3};
    const std::uint32_t path = choose_ecmp(flow, kPaths, 1);
    ASSERT_LT(path, kPaths);
    ASSERT_EQ(path, choose_ecmp(flow, kPaths, 1));
    ++hits[path];
  }
  // 1000 expected; a deviation of 5 sigma (148) happens once in a million paths.
  for (const int count : hits) EXPECT_NEAR(count, 1000, 148);
}

TEST(PathChoice, EcmpDependsOnSeedNumberAndDirection) {
  int other_seed = 0, other_number = 0, other_way = 0;
  for (std::uint32_t i = 0; i < 100; ++i) {
    const std::uint32_t base = choose_ecmp({i, 500, 0}, 16);
    other_seed += choose_ecmp({i, 500, 0}, 16, 9) != base ? 1 : 0;
    other_number += choose_ecmp({i, 500, 1}, 16) != base ? 1 : 0;
    other_way += choose_ecmp({500, i, 0}, 16) != base ? 1 : 0;
  }
  for (const int changed : {other_seed, other_number, other_way}) EXPECT_GT(changed, 75);
}

TEST(PathChoice, DModKSpreadsNeighboursAndRailFollowsTheDestination) {
  std::set<std::uint32_t> used;
  for (std::uint32_t d = 32; d < 40; ++d) used.insert(choose_d_mod_k({1, d, 0}, 8));
  EXPECT_EQ(used.size(), 8U);
  EXPECT_EQ(choose_rail({0, 19, 0}, 8, 8), 3U);
  EXPECT_EQ(choose_rail({0, 19, 0}, 2, 8), 1U);
}

TEST(PathChoice, LeastLoadedFindsTheMinimumAndSpreadsTies) {
  const std::vector<double> load = {3, 1, 0.5, 2};
  EXPECT_EQ(choose_least_loaded({1, 2, 3}, 4, [&](std::uint32_t k) { return load[k]; }), 2U);
  std::set<std::uint32_t> used;
  for (std::uint32_t i = 0; i < 100; ++i) {
    used.insert(choose_least_loaded({i, 1, 0}, 4, [](std::uint32_t) { return 0.0; }));
  }
  EXPECT_EQ(used.size(), 4U);
  int asked = 0;
  choose_least_loaded({1, 2, 3}, 1000000, [&](std::uint32_t) { return ++asked; });
  EXPECT_EQ(asked, 64);
}

TEST(PathChoice, SprayGivesDifferentPathsFarApart) {
  for (const std::uint32_t paths : {1U, 2U, 7U, 64U, 4294967295U}) {
    for (const std::uint32_t n : {1U, 3U, 8U, 100U}) {
      const auto chosen = choose_spray({5, 6, 7}, paths, n, 2);
      EXPECT_EQ(chosen.size(), std::min(n, paths));
      EXPECT_EQ(std::set<std::uint32_t>(chosen.begin(), chosen.end()).size(), chosen.size());
      for (const std::uint32_t path : chosen) EXPECT_LT(path, paths);
    }
  }
}

TEST(PathChoice, RulesAreReadByName) {
  EXPECT_EQ(parse_path_rule("d-mod-k")->kind, PathRule::Kind::kDModK);
  EXPECT_EQ(parse_path_rule("spray:4")->spray, 4U);
  EXPECT_EQ(choose_paths(*parse_path_rule("spray:4"), {1, 2, 3}, 9, nullptr).size(), 4U);
  EXPECT_EQ(choose_paths(*parse_path_rule("d-mod-k"), {1, 11, 3}, 9, nullptr),
            (std::vector<std::uint32_t>{2}));
  for (const char* bad : {"spray:0", "spray:", "spray", "ecpm", ""}) {
    EXPECT_FALSE(parse_path_rule(bad).ok()) << bad;
  }
  EXPECT_NE(parse_path_rule("ecpm").error().what.find("'ecmp'"), std::string::npos);
}

}  // namespace
}  // namespace weft
