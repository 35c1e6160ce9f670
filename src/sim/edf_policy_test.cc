#include <gtest/gtest.h>

#include <set>

#include "base/random.h"
#include "sim/sim_testing.h"

namespace weft {
namespace {

constexpr const char* kDeadlineKey =
    "base: fifo\nkey: deadline\nallocate: {part: list, preempt: yes, backfill: any}\n";

TEST(Edf, PromisedDeadlinesAreKeptAndTheRestFillsIn) {
  // c (due 400) is booked after a's two leases, from 120 on, and moves up to 100 when a ends. d
  // cannot end by 200 any more and waits behind b with the jobs that have no deadline.
  expect_scenario({"a job that cannot be kept does not spoil one that can",
                   "1x2",
                   "edf",
                   {{0, 2, 100, 0, /*deadline=*/150},
                    {5, 2, 500},
                    {10, 2, 100, 0, /*deadline=*/400},
                    {10, 1, 300, 0, /*deadline=*/200}},
                   {0, 200, 100, 700},
                   {100, 700, 200, 1000},
                   {"fifo", kDeadlineKey}});
}

TEST(Edf, BestEffortGivesWayToABooking) {
  expect_scenario({"a is stopped for b and resumes after it",
                   "1x2",
                   "edf",
                   {{0, 2, 1000}, {100, 2, 60, 0, /*deadline=*/200}},
                   {0, 100},
                   {1060, 160},
                   {"fifo", "backfill"}});
}

TEST(Edf, RefusedJobsAreRejectedIfAsked) {
  const Trace trace = testing_trace({{0, 1, 100, 0, 50}, {0, 1, 100, 0, 150}});
  const auto policy = testing_policy("base: edf\nallocate: {part: reserve, refused: reject}\n");
  const auto result = run_trace(testing_cluster("1x1"), trace, *policy, testing_options());
  ASSERT_TRUE(result.ok());
  EXPECT_TRUE(result->records[0].rejected);
  EXPECT_FALSE(result->records[1].rejected);
  EXPECT_EQ(result->deadline_misses, 0);
}

// With `reject` every job with a deadline that is not rejected was admitted.
TEST(Edf, AdmittedJobsNeverMiss) {
  const Cluster cluster = testing_cluster("3x4");
  const auto policy = testing_policy("base: edf\nallocate: {part: reserve, refused: reject}\n");
  long kept = 0, rejected = 0, late_under_fifo = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Random random(seed);
    std::vector<JobRow> rows;
    Seconds at = 0;
    for (int i = 0; i < 80; ++i) {
      at += random.exponential(60);
      const std::uint32_t devices = random.chance(0.3) ? 8 : 1u << random.below(3);
      const Seconds duration = random.exponential(250);
      const Seconds deadline = random.chance(0.7) ? at + duration * random.uniform(1, 4) : kNever;
      rows.push_back(
          {at, devices, duration, 0, deadline, 0, -1,
           [firm = random.chance(0.1)](Submission& s, Menu&, Truth&) { s.preemptible = !firm; }});
    }
    const Trace trace = testing_trace(rows);
    SimOptions options = testing_options();
    options.estimates.kind = EstimateMode::Kind::kOracle;
    const auto result = run_trace(cluster, trace, *policy, options);
    ASSERT_TRUE(result.ok()) << result.error().text();
    EXPECT_EQ(result->deadline_misses, 0) << "seed " << seed;
    kept += result->with_deadline;
    rejected += result->rejected;
    const auto fifo = run_trace(cluster, trace, *testing_policy("fifo"), options);
    ASSERT_TRUE(fifo.ok());
    late_under_fifo += fifo->deadline_misses;
  }
  EXPECT_GT(kept, 0);
  EXPECT_GT(rejected, 0);
  EXPECT_GT(late_under_fifo, 0);
}

}  // namespace
}  // namespace weft
