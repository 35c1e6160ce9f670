// Gandiva: equal slices of time, and pairs by trial.
#include "sim/pair_testing.h"

namespace weft {
namespace {

// One device, rounds of 360 s; a and b lose together (0.4 each), c fits beside none. While three
// want one device, a and b are tried: {a, b} and {c} have the same time and the tie goes to the
// older, so both start at 0 and have done 144 s when the round ends and their loss is known. c was
// promised half of that round, so it is next: 360 to 720. Then a (504 done), b (504); at 1440 all
// have had the same, c is still owed and ends at 1800; a 1800 to 2016; its round lasts to 2160, b
// ends at 2376.
TEST(GandivaPolicy, APairThatLosesIsTakenApart) {
  const std::vector<JobRow> rows = {modelled(0, 1, 720, 0), modelled(0, 1, 720, 0),
                                    modelled(0, 1, 720, 1)};
  const auto pairs = even_pairs(2, 0.4);
  const RunResult got = run_pairs("1x1", rows, "gandiva", pairs);
  EXPECT_EQ(starts_of(got), (std::vector<Seconds>{0, 0, 360}));
  EXPECT_EQ(ends_of(got), (std::vector<Seconds>{2016, 2376, 1800}));
  for (const char* sibling : {"fifo", "max-min-packed", "lucid", "{base: gandiva, share: none}"}) {
    EXPECT_NE(starts_of(got), starts_of(run_pairs("1x1", rows, sibling, pairs))) << sibling;
  }
}

// At 0.8 each they stay together to the end: 720 / 0.8.
TEST(GandivaPolicy, APairThatGainsIsKept) {
  const std::vector<JobRow> rows = {modelled(0, 1, 720, 0), modelled(0, 1, 720, 0)};
  const RunResult got = run_pairs("1x1", rows, "gandiva", even_pairs(2, 0.8));
  EXPECT_EQ(starts_of(got), (std::vector<Seconds>{0, 0}));
  EXPECT_EQ(ends_of(got), (std::vector<Seconds>{900, 900}));
  EXPECT_EQ(got.restarts, 0);
}

TEST(GandivaPolicy, NobodySharesWhileThereAreDevicesForAll) {
  const std::vector<JobRow> rows = {modelled(0, 1, 720, 0), modelled(0, 1, 720, 0)};
  const RunResult got = run_pairs("1x2", rows, "gandiva", even_pairs(2, 0.8));
  EXPECT_EQ(ends_of(got), (std::vector<Seconds>{720, 720}));
}

// OSDI 2018, packing: what is tried and loses is given up, so that no two jobs lose for longer than
// one round; and what does not fit is not tried.
TEST(GandivaPolicy, NoPairLosesForLongerThanARoundOnRandomTraces) {
  long tried = 0;
  for (std::uint64_t seed = 1; seed <= 15; ++seed) {
    const std::vector<JobRow> rows = random_pairs(seed);
    SimOptions options = testing_options();
    options.record_timeline = true;
    const RunResult got = run_pairs("2x4", rows, "gandiva", even_pairs(4, 0.45), options);
    const Trace trace = testing_trace(rows);
    for (const auto& [jobs, seconds] : together_s(got)) {
      ++tried;
      EXPECT_LE(seconds, 360 + 1e-6) << "seed " << seed;
      for (JobId id : {jobs.first, jobs.second}) EXPECT_LT(trace.jobs[id].submission->model, 3);
    }
  }
  EXPECT_GT(tried, 20);
}

TEST(GandivaPolicy, PairsThatGainLowerTheMeanOnRandomTraces) {
  double together = 0, apart = 0;
  for (std::uint64_t seed = 1; seed <= 15; ++seed) {
    const std::vector<JobRow> rows = random_pairs(seed);
    together += run_pairs("2x4", rows, "gandiva", even_pairs(4, 0.8)).jct_s.mean;
    apart += run_pairs("2x4", rows, "{base: gandiva, share: none}", even_pairs(4, 0.8)).jct_s.mean;
  }
  EXPECT_LT(together, apart);
}

TEST(GandivaPolicy, SurvivesDelayLossRefusalAndFailures) {
  for (std::uint64_t seed = 1; seed <= 15; ++seed) {
    for (const double speed : {0.45, 0.8}) {
      const RunResult got =
          run_pairs("2x4", random_pairs(seed), "gandiva", even_pairs(4, speed), hard_options(seed));
      for (const JobRecord& record : got.records) EXPECT_LT(record.end, kNever);
    }
  }
}

}  // namespace
}  // namespace weft
