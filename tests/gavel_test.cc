// Gavel's own traces on 8 V100, 16 P100 and 24 K80: mean completion times and makespans of its
// simulator (OSDI 2020; measured with its published code), which shares of time must come within
// 3 % of. And, without those files, what knowing device types is worth on a trace made here.
#include <gtest/gtest.h>

#include "sim/sim_testing.h"
#include "tests/cross_testing.h"

namespace weft {
namespace {

constexpr const char* kCluster = "v100:2x4,p100:4x4,k80:6x4";

RunResult run_gavel(const std::string& file, const std::string& policy) {
  const Cluster cluster = testing_cluster(kCluster);
  Result<Trace> trace = read_trace(shared_jobs("gavel/" + file), cluster, {});
  if (!trace.ok()) ADD_FAILURE() << trace.error().text();
  CHECK(trace.ok());
  Result<RunResult> result = run_trace(cluster, *trace, *testing_policy(policy), SimOptions{});
  if (!result.ok()) ADD_FAILURE() << result.error().text();
  CHECK(result.ok());
  return std::move(result).value();
}

TEST(GavelFigures, MeanCompletionTimes) {
  SKIP_WITHOUT_FILE(shared_jobs("gavel/max_min_fairness.trace"));
  struct Row {
    const char* policy;
    double hours;
  };
  for (const Row& row :
       {Row{"max-min-agnostic", 5.55}, Row{"max-min", 4.06}, Row{"finish-time-fair-agnostic", 5.44},
        Row{"finish-time-fair", 4.17}, Row{"max-throughput", 4.74}}) {
    const double hours = run_gavel("max_min_fairness.trace", row.policy).jct_s.mean / kHour;
    EXPECT_NEAR(hours, row.hours, 0.03 * row.hours) << row.policy;
  }
}

TEST(GavelFigures, Makespans) {
  SKIP_WITHOUT_FILE(shared_jobs("gavel/minimize_makespan.trace"));
  EXPECT_NEAR(run_gavel("minimize_makespan.trace", "makespan-agnostic").makespan_s / kHour, 21.3,
              0.03 * 21.3);
  EXPECT_NEAR(run_gavel("minimize_makespan.trace", "makespan").makespan_s / kHour, 18.0,
              0.03 * 18.0);
}

// Two types of two devices; a runs ten times as fast on the first, b alike on both. Who knows types
// gives the first to a and the second to b at once; who does not has to try.
TEST(TimeShares, KnowingTypesIsWorthIt) {
  const Cluster cluster = testing_cluster("fast:1x2,slow:1x2");
  Trace trace;
  for (int i = 0; i < 2; ++i) {
    auto menu = std::make_shared<Menu>();
    for (TypeId type = 0; type < 2; ++type) {
      Configuration c;
      c.type = type;
      c.devices = 2;
      c.rate = i == 0 && type == 0 ? 10 : 1;
      menu->configurations.push_back(c);
    }
    auto spec = std::make_shared<Submission>();
    spec->name = i == 0 ? "a" : "b";
    spec->menu = menu;
    TraceJob job;
    job.submission = spec;
    job.truth.work = i == 0 ? 36000 : 3600;
    trace.jobs.push_back(job);
  }
  Result<RunResult> aware = run_trace(cluster, trace, *testing_policy("max-min"), SimOptions{});
  Result<RunResult> blind =
      run_trace(cluster, trace, *testing_policy("max-min-agnostic"), SimOptions{});
  ASSERT_TRUE(aware.ok() && blind.ok());
  EXPECT_EQ(aware->records[0].end, 3600);
  EXPECT_EQ(aware->records[1].end, 3600);
  EXPECT_GT(blind->jct_s.mean, aware->jct_s.mean);
}

}  // namespace
}  // namespace weft
