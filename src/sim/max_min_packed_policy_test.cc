// Gavel's space sharing: pairs of jobs are rows of the allocation.
#include "sim/pair_testing.h"

namespace weft {
namespace {

// One device, rounds of 360 s; a and b go at 0.8 each together, c fits beside none. Equal levels:
// 0.8 p = q with p + q = 1, so the pair has 5/9 of the time and c 4/9. By share over time received
// the pair is first (288 s done each), c second, the pair third (576), c fourth, done at 1440; the
// pair needs 144 / 0.8 = 180 s more.
TEST(MaxMinPackedPolicy, APairIsARowOfTheAllocation) {
  const std::vector<JobRow> rows = {modelled(0, 1, 720, 0), modelled(0, 1, 720, 0),
                                    modelled(0, 1, 720, 1)};
  const auto pairs = even_pairs(2, 0.8);
  const RunResult got = run_pairs("1x1", rows, "max-min-packed", pairs);
  EXPECT_EQ(starts_of(got), (std::vector<Seconds>{0, 0, 360}));
  EXPECT_EQ(ends_of(got), (std::vector<Seconds>{1620, 1620, 1440}));
  for (const char* sibling : {"fifo", "max-min"}) {
    EXPECT_NE(starts_of(got), starts_of(run_pairs("1x1", rows, sibling, pairs))) << sibling;
  }
}

// A pair that does less than one job alone takes turns from the start; Gandiva has to try.
TEST(MaxMinPackedPolicy, APairThatLosesIsNeverPut) {
  const std::vector<JobRow> rows = {modelled(0, 1, 720, 0), modelled(0, 1, 720, 0)};
  const RunResult got = run_pairs("1x1", rows, "max-min-packed", even_pairs(2, 0.4));
  EXPECT_EQ(starts_of(got), (std::vector<Seconds>{0, 360}));
  EXPECT_EQ(starts_of(run_pairs("1x1", rows, "gandiva", even_pairs(2, 0.4))),
            (std::vector<Seconds>{0, 0}));
}

// The other ends; whoever is left has the pair's time, and the whole device at once.
TEST(MaxMinPackedPolicy, WhoeverIsLeftGoesOnAlone) {
  const std::vector<JobRow> rows = {modelled(0, 1, 144, 0), modelled(0, 1, 720, 0)};
  const RunResult got = run_pairs("1x1", rows, "max-min-packed", even_pairs(2, 0.8));
  EXPECT_EQ(ends_of(got), (std::vector<Seconds>{180, 180 + 576}));
  EXPECT_EQ(got.restarts, 0);
}

// OSDI 2020, space sharing: pairs raise what everybody gets, and zero entries (memory that does not
// suffice) are never used.
TEST(MaxMinPackedPolicy, OnlyMeasuredPairsShareAndItPaysOnRandomTraces) {
  double packed = 0, plain = 0;
  long shared = 0;
  for (std::uint64_t seed = 1; seed <= 15; ++seed) {
    const std::vector<JobRow> rows = random_pairs(seed);
    SimOptions options = testing_options();
    options.record_timeline = true;
    const RunResult got = run_pairs("2x4", rows, "max-min-packed", even_pairs(4, 0.8), options);
    packed += got.jct_s.mean;
    plain += run_pairs("2x4", rows, "max-min", even_pairs(4, 0.8)).jct_s.mean;
    const Trace trace = testing_trace(rows);
    for (const auto& [jobs, seconds] : together_s(got)) {
      ++shared;
      const Submission& a = *trace.jobs[jobs.first].submission;
      const Submission& b = *trace.jobs[jobs.second].submission;
      EXPECT_LT(std::max(a.model, b.model), 3u) << "a pair that does not fit shares a device";
      EXPECT_EQ(a.requested().devices, b.requested().devices);
    }
  }
  EXPECT_GT(shared, 20);
  EXPECT_LT(packed, plain);
}

TEST(MaxMinPackedPolicy, SurvivesDelayLossRefusalAndFailures) {
  for (std::uint64_t seed = 1; seed <= 15; ++seed) {
    const RunResult got = run_pairs("2x4", random_pairs(seed), "max-min-packed", even_pairs(4, 0.8),
                                    hard_options(seed));
    for (const JobRecord& record : got.records) EXPECT_LT(record.end, kNever);
  }
}

// The pairs of the makespan objective, composed by hand.
TEST(MaxMinPackedPolicy, GoesWithTheMakespanObjective) {
  const std::vector<JobRow> rows = {modelled(0, 1, 720, 0), modelled(0, 1, 720, 0)};
  const std::string composed =
      "{name: packed, allocate: {part: share, objective: makespan}, share: pairs}";
  EXPECT_EQ(ends_of(run_pairs("1x1", rows, composed, even_pairs(2, 0.8))),
            (std::vector<Seconds>{900, 900}));
}

}  // namespace
}  // namespace weft
