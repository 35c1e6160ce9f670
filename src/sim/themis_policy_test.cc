#include <gtest/gtest.h>

#include "base/random.h"
#include "sim/sim_testing.h"

namespace weft {
namespace {

constexpr const char* kShortLease =
    "base: themis\nallocate: {part: auction, lease: 100, fairness: 0.5}\n";

TEST(Themis, LeasesGoToWhoeverIsTreatedWorst) {
  // One device and leases of 100 s. rho of a : b is 0.5 : 0.5 at 0 and 0.5 : 1 at 100. From 200 on
  // a and c are 0.55 : 0.5625, 0.6 : 0.5625, 0.6 : 0.6875, 0.65 : 0.6875,
  // 0.7 : 0.6875, 0.7 : 0.8125.
  expect_scenario({"the leader changes whenever the other's finish time got worse",
                   "1x1",
                   kShortLease,
                   {{0, 1, 1000}, {0, 1, 100}, {150, 1, 400}},
                   {0, 100, 200},
                   {1500, 200, 800},
                   {"fifo", "srtf", "las", "finish-time-fair"}});
}

// With gangs of any size at about 90 % load, the worst-off job is better off than under fifo.
TEST(Themis, TheWorstRhoIsNotAboveFifos) {
  const Cluster cluster = testing_cluster("4x4");
  const auto themis =
      testing_policy("base: themis\nallocate: {part: auction, lease: 60, fairness: 0.8}\n");
  const auto fifo = testing_policy("fifo");
  for (std::uint64_t seed = 1; seed <= 25; ++seed) {
    Random random(seed);
    std::vector<JobRow> rows;
    Seconds at = 0;
    for (int i = 0; i < 150; ++i) {
      at += random.exponential(60);
      rows.push_back({at, 1u << random.below(4), random.log_normal(5, 1)});
    }
    const Trace trace = testing_trace(rows);
    const auto fair = run_trace(cluster, trace, *themis, testing_options());
    const auto plain = run_trace(cluster, trace, *fifo, testing_options());
    ASSERT_TRUE(fair.ok() && plain.ok());
    EXPECT_LE(fair->rho.max, plain->rho.max) << "seed " << seed;
  }
}

}  // namespace
}  // namespace weft
