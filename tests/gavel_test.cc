// Gavel's own traces on 8 V100, 16 P100 and 24 K80: mean completion times and makespans of its
// simulator (OSDI 2020; measured with its published code), which shares of time must come within
// 3 % of. And, without those files, what knowing device types is worth on a trace made here.
#include <gtest/gtest.h>

#include "sim/sim_testing.h"
#include "tests/cross_testing.h"

namespace weft {
namespace {

constexpr const char* kGavelCluster = "v100:2x4,p100:4x4,k80:6x4";

RunResult run_gavel(const std::string& file, const std::string& policy) {
  const Cluster cluster = testing_cluster(kGavelCluster);
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
        Row{"finish-time-fair", 4.17}, Row{"max-throughput", 4.74}, Row{"gandiva", 4.83},
        Row{"{name: isolated, allocate: {part: share, objective: isolated, aware: false}}",
            5.52}}) {
    const double hours = run_gavel("max_min_fairness.trace", row.policy).jct_s.mean / kHour;
    EXPECT_NEAR(hours, row.hours, 0.03 * row.hours) << row.policy;
  }
}

// Its packed policy does not run on this trace; sharing must at least not hurt.
TEST(GavelFigures, PairsDoNotHurt) {
  SKIP_WITHOUT_FILE(shared_jobs("gavel/max_min_fairness.trace"));
  EXPECT_LE(run_gavel("max_min_fairness.trace", "max-min-packed").jct_s.mean,
            run_gavel("max_min_fairness.trace", "max-min").jct_s.mean);
}

TEST(GavelFigures, Makespans) {
  SKIP_WITHOUT_FILE(shared_jobs("gavel/minimize_makespan.trace"));
  EXPECT_NEAR(run_gavel("minimize_makespan.trace", "makespan-agnostic").makespan_s / kHour, 21.3,
              0.03 * 21.3);
  EXPECT_NEAR(run_gavel("minimize_makespan.trace", "makespan").makespan_s / kHour, 18.0,
              0.03 * 18.0);
  const RunResult gandiva = run_gavel("minimize_makespan.trace", "gandiva");
  EXPECT_NEAR(gandiva.makespan_s / kHour, 21.1, 0.03 * 21.1);
  EXPECT_NEAR(gandiva.jct_s.mean / kHour, 9.74, 0.03 * 9.74);
}

// Jobs of `devices` devices, all there at 0, with the work and the rate on each type given.
struct TypedJob {
  const char* name;
  double work;
  std::vector<double> rates;
};

Trace typed_trace(const std::vector<TypedJob>& jobs, std::uint32_t devices) {
  Trace trace;
  for (const TypedJob& wanted : jobs) {
    auto menu = std::make_shared<Menu>();
    for (TypeId type = 0; type < wanted.rates.size(); ++type) {
      Configuration c;
      c.type = type;
      c.devices = devices;
      c.rate = wanted.rates[type];
      menu->configurations.push_back(c);
    }
    auto spec = std::make_shared<Submission>();
    spec->name = wanted.name;
    spec->menu = menu;
    TraceJob job;
    job.submission = spec;
    job.truth.work = wanted.work;
    trace.jobs.push_back(job);
  }
  return trace;
}

RunResult run_typed(const char* cluster_text, const Trace& trace, const char* policy) {
  const Cluster cluster = testing_cluster(cluster_text);
  Result<RunResult> result = run_trace(cluster, trace, *testing_policy(policy), SimOptions{});
  CHECK(result.ok());
  return std::move(result).value();
}

// Two types of two devices; a runs ten times as fast on the first, b alike on both. Who knows types
// gives the first to a and the second to b at once; who does not has to try.
TEST(TimeShares, KnowingTypesIsWorthIt) {
  const Trace trace = typed_trace({{"a", 36000, {10, 1}}, {"b", 3600, {1, 1}}}, 2);
  const RunResult aware = run_typed("fast:1x2,slow:1x2", trace, "max-min");
  EXPECT_EQ(aware.records[0].end, 3600);
  EXPECT_EQ(aware.records[1].end, 3600);
  EXPECT_GT(run_typed("fast:1x2,slow:1x2", trace, "max-min-agnostic").jct_s.mean, aware.jct_s.mean);
}

// a takes 10 s on the fast device and 12.5 s on the slow one, b 20 s and 200 s. Shortest first
// gives a the fast device; the matching gives it to b, who loses more without it.
TEST(Allox, WhoLosesMoreGetsTheFastDevice) {
  const Trace trace = typed_trace({{"a", 100, {10, 8}}, {"b", 200, {10, 1}}}, 1);
  const RunResult matched = run_typed("fast:1x1,slow:1x1", trace, "allox");
  EXPECT_EQ(matched.records[0].end, 12.5);
  EXPECT_EQ(matched.records[1].end, 20);
  for (const char* sibling : {"sjf", "fifo"}) {
    const RunResult listed = run_typed("fast:1x1,slow:1x1", trace, sibling);
    EXPECT_EQ(listed.records[0].end, 10) << sibling;
    EXPECT_EQ(listed.records[1].end, 200) << sibling;
  }
}

// One device: the order of least total completion time is shortest first.
TEST(Allox, OneDeviceRunsTheShortestFirst) {
  const Trace trace = typed_trace({{"a", 100, {1}}, {"b", 50, {1}}, {"c", 10, {1}}}, 1);
  const RunResult matched = run_typed("gpu:1x1", trace, "allox");
  EXPECT_EQ(matched.records[0].first_start, 60);
  EXPECT_EQ(matched.records[1].first_start, 10);
  EXPECT_EQ(matched.records[2].first_start, 0);
}

}  // namespace
}  // namespace weft
