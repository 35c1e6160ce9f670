#include "model/readers/shockwave_reader.h"

#include "model/readers/reader_testing.h"

namespace weft {
namespace {

TEST(Shockwave, RatesComeFromTheDurations) {
  const Result<Trace> trace = read_trace(fixture("traces/shockwave.trace"), cluster_of("4x4"), {});
  ASSERT_TRUE(trace.ok()) << trace.error().text();
  ASSERT_EQ(trace->jobs.size(), 3U);
  const TraceJob& first = trace->jobs[0];
  EXPECT_EQ(first.submission->adaptation, Adaptation::kNoiseScale);
  EXPECT_DOUBLE_EQ(first.submission->requested().rate, 29.84);
  EXPECT_EQ(first.submission->requested().type, kAnyType);
  EXPECT_EQ(first.truth.work, 29840);
  EXPECT_EQ(trace->jobs[1].submission->deadline, 12 + 3 * 500);
}

// LM has 59675 samples: 1492 steps of 40 an epoch. From epoch 11 on GNS runs 80, which by the
// second row does 20 steps of 80 a second where the first row does 29.84 of 40.
TEST(Shockwave, AdaptingJobsHavePhasesOfSpeed) {
  const Result<Trace> trace = read_trace(fixture("traces/shockwave.trace"), cluster_of("4x4"), {});
  ASSERT_TRUE(trace.ok()) << trace.error().text();
  const std::vector<SpeedPhase>& phases = trace->jobs[0].truth.phases;
  ASSERT_EQ(phases.size(), 2U);
  EXPECT_EQ(phases[0].from_work, 0);
  EXPECT_EQ(phases[0].speed, 1);
  EXPECT_EQ(phases[1].from_work, 11 * 1492);
  EXPECT_DOUBLE_EQ(phases[1].speed, 20.0 * 80 / (29.84 * 40));
  EXPECT_TRUE(trace->jobs[1].truth.phases.empty()) << "static";
  EXPECT_TRUE(trace->jobs[2].truth.phases.empty()) << "nobody measured a larger batch";
}

TEST(Shockwave, ComplainsWithLineValueAndLimit) {
  const auto row = [](const std::string& mode, const std::string& duration) {
    return "A\tc\tw\t-n\t1\t10\t1\t" + mode + "\t1\t-1\t" + duration + "\t0\n";
  };
  const BadText bads[] = {
      {"unknown mode", row("magic", "5"),
       "s:1: mode is 'magic'; it must be static, accordion or gns"},
      {"negative duration", row("gns", "-5"), "s:1: duration is '-5'"},
      {"Gavel's columns", "A\tc\tw\t-n\t1\t10\t1\t1\t-1\t0\n", "s:1: column 'mode' is missing"},
      {"cut off", row("gns", "5") + "A\tc", "s:2: the row has 2 columns; 12 are needed"},
  };
  const Cluster cluster = cluster_of("1x1");
  for (const BadText& bad : bads) {
    expect_complaint(bad, parse_shockwave({"s", bad.text}, nullptr, cluster));
  }
}

TEST(Shockwave, ReadsThePublishedTracesWithAndWithoutATable) {
  const std::string path = shared_data("shockwave/120_0.2_5_100_40_25.trace");
  SKIP_WITHOUT(path);
  const Result<Trace> alone = read_trace(path, cluster_of("8x4"), {});
  ASSERT_TRUE(alone.ok()) << alone.error().text();
  EXPECT_EQ(alone->jobs.size(), 120U);
  for (const TraceJob& job : alone->jobs) {
    for (const SpeedPhase& phase : job.truth.phases) {
      EXPECT_LT(phase.from_work, job.truth.work);
      EXPECT_GT(phase.speed, 0.5);
      EXPECT_LT(phase.speed, 20);
    }
  }
  TraceOptions options;
  options.profiles = shared_data("gavel/simulation_throughputs.json");
  const Result<Trace> with = read_trace(path, cluster_of("v100:4x4,k80:4x4"), options);
  ASSERT_TRUE(with.ok()) << with.error().text();
  EXPECT_EQ(with->jobs[0].submission->menu->configurations.size(), 2U);
  EXPECT_NE(with->pairs, nullptr);
}

}  // namespace
}  // namespace weft
