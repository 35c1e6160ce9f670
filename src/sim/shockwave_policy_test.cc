#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"
#include "sim/sim_testing.h"

namespace weft {
namespace {

constexpr const char* kShortWindow =
    "base: shockwave\nallocate: {part: market, round: 100, window: 2, efficiency: 0}\n";
constexpr const char* kThemis =
    "base: themis\nallocate: {part: auction, lease: 100, fairness: 0.5}\n";

TEST(Shockwave, RoundsGoWhereTheyAddMostToTheProduct) {
  // At 100 b gains .667 log 2 of a round and a .5 log 1.5. At 200 both have run for 100 s: c, new,
  // gains .333 log 2 = .231 against their .444 log 1.5 = .180, although its rho is the smallest.
  expect_scenario({"who has had nothing comes before who has had a little",
                   "1x1",
                   kShortWindow,
                   {{0, 1, 300}, {0, 1, 300}, {200, 1, 300}},
                   {0, 100, 200},
                   {},
                   {"fifo", "srtf", "las", kThemis}});
}

// Nash welfare of equal jobs is largest for equal progress: they end within one turn of each other.
TEST(Shockwave, EqualJobsProgressEqually) {
  const auto policy = testing_policy("base: shockwave\nallocate: {part: market, round: 60}\n");
  for (std::uint32_t jobs : {5u, 9u, 16u}) {
    std::vector<JobRow> rows(jobs, JobRow{0, 1, 1200});
    const auto result =
        run_trace(testing_cluster("1x4"), testing_trace(rows), *policy, testing_options());
    ASSERT_TRUE(result.ok());
    Seconds first = kNever, last = 0;
    for (const JobRecord& record : result->records) {
      first = std::min(first, record.end);
      last = std::max(last, record.end);
    }
    EXPECT_LE(last - first, 60.0 * ((jobs + 3) / 4 + 1)) << jobs << " jobs";
  }
}

// The regulariser does what it is for: makespans fall, in sum over random traces.
TEST(Shockwave, EfficiencyShortensTheMakespan) {
  const Cluster cluster = testing_cluster("2x4");
  const auto fair =
      testing_policy("base: shockwave\nallocate: {part: market, round: 60, efficiency: 0}\n");
  const auto efficient =
      testing_policy("base: shockwave\nallocate: {part: market, round: 60, efficiency: 5}\n");
  double fair_sum = 0, efficient_sum = 0, fair_rho = 0, fifo_rho = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed);
    std::vector<JobRow> rows;
    Seconds at = 0;
    for (int i = 0; i < 40; ++i) {
      at += random.exponential(30);
      rows.push_back({at, 1u << random.below(3), random.log_normal(5.5, 1)});
    }
    const Trace trace = testing_trace(rows);
    const auto a = run_trace(cluster, trace, *fair, testing_options());
    const auto b = run_trace(cluster, trace, *efficient, testing_options());
    const auto c = run_trace(cluster, trace, *testing_policy("fifo"), testing_options());
    ASSERT_TRUE(a.ok() && b.ok() && c.ok());
    fair_sum += a->makespan_s;
    efficient_sum += b->makespan_s;
    fair_rho += a->rho.max;
    fifo_rho += c->rho.max;
  }
  EXPECT_LT(efficient_sum, fair_sum);
  EXPECT_LT(fair_rho, fifo_rho);
}

// Both are believed to take 900 s at first. At 300 a has shown that it goes three times as fast
// from then on, so b is the longer one; a policy that looks at the declared work alone sees equals.
TEST(Shockwave, ForeseesFromWhatWasReported) {
  const auto adaptive = [](Seconds submit, bool faster) {
    JobRow row{submit, 1, 900};
    row.edit = [faster](Submission& job, Menu&, Truth& truth) {
      job.adaptation = Adaptation::kNoiseScale;
      job.declared_work = truth.work;
      if (faster) truth.phases = {{0, 1}, {90, 3}};
    };
    return row;
  };
  const std::string efficient =
      "base: shockwave\nallocate: {part: market, round: 100, window: 1, fairness: 0, "
      "efficiency: 1000}\n";
  const std::vector<JobRow> rows = {adaptive(0, true), adaptive(0, false)};
  SimOptions options = testing_options();
  options.record_timeline = true;
  const auto result =
      run_trace(testing_cluster("1x1"), testing_trace(rows), *testing_policy(efficient), options);
  ASSERT_TRUE(result.ok());
  // a runs first and has done 90 + 30 in 100 s: 260 s left at the new speed, against b's 900. From
  // then on the job with most left runs: b until it has less than a.
  ASSERT_GE(result->timeline.size(), 2u);
  EXPECT_EQ(result->timeline[0].job, 0u);
  EXPECT_EQ(result->timeline[0].to, 100);
  EXPECT_EQ(result->timeline[1].job, 1u);
  EXPECT_EQ(result->timeline[1].to, 800) << "after 700 s b has 200 s left and a 260";
}

}  // namespace
}  // namespace weft
