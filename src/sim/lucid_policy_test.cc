// Lucid: light jobs share devices, heavy ones do not, and nobody is slowed for nothing.
#include "base/files.h"
#include "sim/pair_testing.h"

namespace weft {
namespace {

// Models 0 light, 1 medium, 2 heavy and of 20 GiB, 3 light but never measured beside another.
// Measured pairs run at 0.8 each.
std::shared_ptr<const PairTable> lucid_pairs() {
  auto table = std::make_shared<PairTable>();
  for (int i = 0; i < 4; ++i) {
    ModelProfile model;
    model.name = std::string(1, static_cast<char>('A' + i));
    model.memory = (i == 2 ? 20 : 4) * kGiB;
    model.packing_class = i == 2 ? 2 : i == 1 ? 1 : 0;
    table->models.push_back(model);
  }
  table->speed.assign(4, std::vector<PairSpeed>(4, PairSpeed{0, 0, 0}));
  for (int a = 0; a < 3; ++a) {
    for (int b = 0; b < 3; ++b) table->speed[a][b] = {0.8, 0.8, 0};
  }
  return table;
}

RunResult run_lucid(const std::string& cluster, const std::vector<JobRow>& rows,
                    const std::string& policy, const SimOptions& options = testing_options()) {
  return run_pairs(cluster, rows, policy, lucid_pairs(), options);
}

// One device. a (100 s) runs alone until b (50 s, light) joins at 10: both at 0.8. b ends at
// 10 + 50/0.8 = 72.5; a has 100 - 10 - 50 = 40 left and is alone again: 112.5. c is heavy and needs
// 20 GiB, too much beside anyone, d was never measured: they wait. c is shorter, so it is first.
TEST(LucidPolicy, LightJobsShareAndHeavyOnesWait) {
  const std::vector<JobRow> rows = {modelled(0, 1, 100, 0), modelled(10, 1, 50, 1),
                                    modelled(11, 1, 30, 2), modelled(12, 1, 40, 3)};
  const RunResult got = run_lucid("1x1", rows, "lucid");
  EXPECT_EQ(starts_of(got), (std::vector<Seconds>{0, 10, 112.5, 142.5}));
  EXPECT_DOUBLE_EQ(got.records[1].end, 72.5);
  EXPECT_DOUBLE_EQ(got.records[0].end, 112.5);
  EXPECT_EQ(got.restarts, 0);
  EXPECT_NE(starts_of(got), starts_of(run_lucid("1x1", rows, "fifo")));
  // The nearest sibling: the same order and passing, without sharing.
  EXPECT_NE(starts_of(got), starts_of(run_lucid("1x1", rows, "{base: lucid, share: none}")));
}

TEST(LucidPolicy, AGuestDoesNotOutstayItsHostByMuch) {
  // b is believed to need more than twice as long as a: it waits for a's end.
  EXPECT_EQ(starts_of(run_lucid("1x1", {modelled(0, 1, 100, 0), modelled(0, 1, 201, 0)}, "lucid")),
            (std::vector<Seconds>{0, 100}));
  EXPECT_EQ(starts_of(run_lucid("1x1", {modelled(0, 1, 100, 0), modelled(0, 1, 200, 0)}, "lucid")),
            (std::vector<Seconds>{0, 0}));
}

TEST(LucidPolicy, AThirdJobNeverJoinsTwo) {
  const RunResult got = run_lucid(
      "1x1", {modelled(0, 1, 80, 0), modelled(0, 1, 80, 0), modelled(0, 1, 80, 0)}, "lucid");
  EXPECT_EQ(starts_of(got), (std::vector<Seconds>{0, 0, 100}));
}

std::vector<JobRow> lucid_rows(std::uint64_t seed, int jobs) {
  return random_modelled(seed, 4, jobs, 20, 400, 4);
}

// Sharing is indolent (ASPLOS'23 §3): a job is never slower than its measured pair, so its time on
// devices is at most its duration over the worst speed of the table, and it is never preempted.
TEST(LucidPolicy, NobodyRunsSlowerThanItsMeasuredPairOnRandomTraces) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const std::vector<JobRow> rows = lucid_rows(seed, 25);
    const RunResult got = run_lucid("2x8", rows, "lucid");
    EXPECT_EQ(got.restarts, 0);
    for (size_t i = 0; i < rows.size(); ++i) {
      EXPECT_LE(got.records[i].run_s, rows[i].duration / 0.8 + 1e-6);
      EXPECT_GE(got.records[i].run_s, rows[i].duration - 1e-6);
    }
  }
}

TEST(LucidPolicy, SurvivesDelayLossRefusalAndFailures) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const RunResult got = run_lucid("2x8", lucid_rows(seed, 25), "lucid", hard_options(seed));
    for (const JobRecord& record : got.records) EXPECT_LT(record.end, kNever);
  }
}

constexpr const char* kProfiling =
    "{base: lucid, allocate: {part: list, backfill: any, profile: 200}}";

// Two devices for profiling and two others. a and b are profiled at once; b ends meanwhile. After
// 200 s a goes on elsewhere, with 300 s left, and c, which needs both devices, is profiled until
// 400; then it waits for a, which holds one of the two others, until 500, and has 100 s left.
TEST(LucidPolicy, NewJobsAreProfiledFirst) {
  const std::vector<JobRow> rows = {modelled(0, 1, 500, 0), modelled(0, 1, 150, 0),
                                    modelled(0, 2, 300, 0)};
  const RunResult got = run_lucid("gpu:1x2,profile:1x2", rows, kProfiling);
  EXPECT_EQ(starts_of(got), (std::vector<Seconds>{0, 0, 200}));
  EXPECT_EQ(got.records[1].end, 150);
  EXPECT_EQ(got.records[0].end, 500);
  EXPECT_EQ(got.records[2].end, 600);
  EXPECT_NE(starts_of(got), starts_of(run_lucid("gpu:1x2,profile:1x2", rows, "lucid")));
}

TEST(LucidPolicy, ProfilingSurvivesDelayLossRefusalAndFailures) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    for (const bool hard : {false, true}) {
      SimOptions options = hard ? hard_options(seed) : testing_options();
      options.record_timeline = true;
      const RunResult got =
          run_lucid("gpu:1x8,profile:1x4", lucid_rows(seed, 25), kProfiling, options);
      for (const JobRecord& record : got.records) EXPECT_LT(record.end, kNever);
      for (const Span& span : got.timeline) {
        if (span.device < 8) continue;
        EXPECT_EQ(span.milli, kWhole) << "job " << span.job << " shares while it is profiled";
        EXPECT_LE(span.to - span.from, hard ? kNever : 200 + 1e-6);
      }
    }
  }
}

TEST(LucidPolicy, BeatsItsPeerOnThePhillyTraceWithProfilingNodes) {
  const std::string jobs = std::string(WEFT_SHARED_DATA) + "/jobs/";
  if (!is_folder(jobs)) GTEST_SKIP() << jobs << " is not here; see docs/data.md";
  const Cluster cluster = testing_cluster("gpu:14x8,profile:2x8");
  TraceOptions options;
  options.profiles = jobs + "lucid";
  const Result<Trace> trace = read_trace(jobs + "philly-1000.csv", cluster, options);
  ASSERT_TRUE(trace.ok()) << trace.error().text();
  const Result<RunResult> oracle = run_trace(cluster, *trace, *testing_policy(kProfiling), {});
  ASSERT_TRUE(oracle.ok()) << oracle.error().text();
  EXPECT_LT(oracle->jct_s.mean, 5140);
}

TEST(LucidPolicy, BeatsItsPeerOnThePhillyTrace) {
  const std::string jobs = std::string(WEFT_SHARED_DATA) + "/jobs/";
  if (!is_folder(jobs)) GTEST_SKIP() << jobs << " is not here; see docs/data.md";
  const Cluster cluster = testing_cluster("16x8");
  TraceOptions options;
  options.profiles = jobs + "lucid";
  const Result<Trace> trace = read_trace(jobs + "philly-1000.csv", cluster, options);
  ASSERT_TRUE(trace.ok()) << trace.error().text();
  const Result<RunResult> oracle = run_trace(cluster, *trace, *testing_policy("lucid"), {});
  ASSERT_TRUE(oracle.ok());
  EXPECT_LT(oracle->jct_s.mean, 5140);
  EXPECT_NEAR(oracle->jct_s.mean, 3711.493, 0.01);
  SimOptions history;
  history.estimates.kind = EstimateMode::Kind::kHistory;
  const Result<RunResult> honest = run_trace(cluster, *trace, *testing_policy("lucid"), history);
  ASSERT_TRUE(honest.ok());
  EXPECT_LT(honest->jct_s.mean, 5140);
}

}  // namespace
}  // namespace weft
