#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "policy/keys/keys.h"
#include "sim/sim_testing.h"

namespace weft {
namespace {

constexpr const char* kLearnsFast =
    "base: gittins\nkey: {part: gittins, quantum: 100, learn-after: 2}\n";
constexpr const char* kSameQueues =
    "base: 2d-las\nkey: {part: attained, thresholds: [100, 200, 400, 800]}\n";

TEST(Gittins, AJobAboutToEndIsNotSetBackForANewOne) {
  // Until a and b have ended nothing is known and the order is that of 2d-las. Both took 200 s, so
  // at 500 c, with 100 s, is worth twice as much as d with none.
  expect_scenario({"two jobs of 200 s teach that a third will end at 200 s",
                   "1x1",
                   kLearnsFast,
                   {{0, 1, 200}, {0, 1, 200}, {400, 1, 200}, {400, 1, 200}},
                   {0, 100, 400, 600},
                   {400, 300, 600, 800},
                   {"fifo", kSameQueues}});
}

TEST(Gittins, TheIndexOfEqualSizesIsOneOverWhatIsLeft) {
  const std::vector<double> services(100, 800.0);
  EXPECT_DOUBLE_EQ(gittins_index(services, 100, 0), 1.0 / 800);
  EXPECT_DOUBLE_EQ(gittins_index(services, 100, 400), 1.0 / 400);
  EXPECT_DOUBLE_EQ(gittins_index(services, 100, 1600), 0);
}

TEST(Gittins, TheIndexOfExponentialSizesIsFlat) {
  Random random(11);
  for (int seed = 0; seed < 20; ++seed) {
    std::vector<double> services;
    for (int i = 0; i < 2000; ++i) services.push_back(random.exponential(8000));
    const double fresh = gittins_index(services, 1000, 0);
    // 1000 to 16000: beyond the last, a seventh of the sample is left.
    for (double attained = 1000; attained <= 16000; attained *= 2) {
      const double ratio = gittins_index(services, 1000, attained) / fresh;
      EXPECT_LT(std::abs(std::log(ratio)), std::log(2.0) / 2) << attained;
    }
  }
}

TEST(Gittins, EqualsLeastAttainedServiceForExponentialSizes) {
  const Cluster cluster = testing_cluster("2x4");
  const auto gittins =
      testing_policy("base: gittins\nkey: {part: gittins, quantum: 1000, learn-after: 128}\n");
  const auto las = testing_policy(
      "base: 2d-las\nkey: {part: attained, thresholds: [1000, 2000, 4000, 8000, 16000, 32000, "
      "64000, 128000, 256000]}\n");
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    Random random(seed);
    std::vector<JobRow> rows;
    Seconds at = 0;
    for (int i = 0; i < 400; ++i) {
      at += random.exponential(1100);
      rows.push_back({at, 1, random.exponential(8000)});
    }
    const Trace trace = testing_trace(rows);
    const auto left = run_trace(cluster, trace, *gittins, testing_options());
    const auto right = run_trace(cluster, trace, *las, testing_options());
    ASSERT_TRUE(left.ok() && right.ok());
    EXPECT_GT(left->restarts, 0);
    for (size_t i = 0; i < rows.size(); ++i) {
      EXPECT_EQ(left->records[i].end, right->records[i].end) << "seed " << seed << " job " << i;
    }
  }
}

}  // namespace
}  // namespace weft
