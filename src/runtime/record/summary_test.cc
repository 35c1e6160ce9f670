#include "runtime/record/summary.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace weft::runtime {
namespace {

constexpr std::int64_t kMs = 1'000'000;

// Each step computes, then waits for one operation; all ranks' steps take as long as the slowest.
Recording steps(std::uint32_t rank, int count, int compute_ms, int step_ms) {
  Recording recording;
  recording.rank = rank;
  recording.ranks = 3;
  for (int i = 0; i <= count; ++i) {
    const std::int64_t begin_ns = (1000 + i * step_ms) * kMs;
    Event event;
    event.time_ns = begin_ns;
    event.sequence = static_cast<std::uint32_t>(i + 1);
    recording.events.push_back(event);
    if (i == count) break;
    event.bytes = 4096;
    event.time_ns = begin_ns + compute_ms * kMs;
    for (const EventKind kind : {EventKind::kSubmitted, EventKind::kWaitBegin}) {
      event.kind = kind;
      recording.events.push_back(event);
    }
    event.time_ns = begin_ns + step_ms * kMs;
    for (const EventKind kind : {EventKind::kEnded, EventKind::kWaitEnd}) {
      event.kind = kind;
      recording.events.push_back(event);
    }
  }
  recording.recorded = recording.events.size() + 7;
  return recording;
}

TEST(SummaryTest, SaysWhereTimeWentAndWhoIsSlowest) {
  const JobSummary job =
      summarize({steps(2, 20, 10, 50), steps(0, 20, 10, 50), steps(1, 20, 40, 50)});
  ASSERT_EQ(job.ranks.size(), 3u);
  EXPECT_EQ(job.ranks[0].rank, 0u);
  EXPECT_EQ(job.ranks[0].steps, 21u);
  EXPECT_EQ(job.ranks[0].operations, 20u);
  EXPECT_EQ(job.ranks[0].bytes, 20u * 4096);
  EXPECT_EQ(job.ranks[0].lost, 7u);
  EXPECT_NEAR(job.ranks[0].span_s, 1.0, 1e-9);
  EXPECT_NEAR(job.ranks[0].wait_s, 0.8, 1e-9);
  EXPECT_NEAR(job.ranks[0].communicate_s, 0.8, 1e-9);
  EXPECT_NEAR(job.ranks[1].compute_s(), 0.8, 1e-9);
  ASSERT_EQ(job.slow.size(), 1u);
  EXPECT_EQ(job.slow[0].rank, 1);
  EXPECT_EQ(
      job.verdict,
      "rank 1 is the slowest: it computes 4.0x as long as the median of the others, which wait "
      "80 % of their time");
}

TEST(SummaryTest, EvenRanksAreNotSlow) {
  const JobSummary job = summarize({steps(0, 20, 30, 40), steps(1, 20, 30, 40)});
  EXPECT_TRUE(job.slow.empty());
  EXPECT_EQ(job.verdict, "no rank holds the others up; they wait 25 % of their time");
}

TEST(SummaryTest, AnEmptyRecordingIsNoTrouble) {
  EXPECT_EQ(summarize({}).slowest, -1);
  EXPECT_EQ(summarize({Recording{}, Recording{}}).ranks[1].span_s, 0);
  EXPECT_EQ(perfetto_json({}), "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[]}\n");
}

TEST(PerfettoTest, HasStepsWaitsAndOperationsOfEveryRank) {
  Recording late = steps(1, 2, 10, 20);
  late.clock_offset_ns = 5 * kMs;
  const auto json = nlohmann::json::parse(perfetto_json({steps(0, 2, 10, 20), late}));
  int slices = 0, begun = 0, ended = 0;
  for (const auto& event : json["traceEvents"]) {
    slices += event["ph"] == "X";
    begun += event["ph"] == "b";
    ended += event["ph"] == "e";
    if (event["ph"] == "X" && event["name"] == "step 2") {
      EXPECT_NEAR(event["ts"].get<double>(), event["pid"] == 0 ? 20'000 : 25'000, 1e-6);
      EXPECT_NEAR(event["dur"].get<double>(), 20'000, 1e-6);
    }
  }
  EXPECT_EQ(slices, 2 * (3 + 2));
  EXPECT_EQ(begun, 4);
  EXPECT_EQ(ended, 4);
}

}  // namespace
}  // namespace weft::runtime
