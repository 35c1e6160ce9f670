#include "timing/schedule_run.h"

#include <gtest/gtest.h>

#include "collective/algorithms.h"
#include "timing/timing_testing.h"

namespace weft {
namespace {

constexpr double kAlpha = 5e-6, kSpeed = 12.5e9, kBytes = 100e6;

collective::Schedule made(const char* algorithm, int ranks) {
  collective::Request request;
  request.ranks = ranks;
  auto schedule = collective::generate(algorithm, request);
  EXPECT_TRUE(schedule.ok()) << (schedule.ok() ? "" : schedule.error().text());
  return std::move(schedule).value();
}

TEST(ScheduleRun, RingTakesWhatTheClosedFormSays) {
  for (int p : {2, 3, 8, 64, 1024}) {
    const collective::Schedule ring = made("ring", p);
    const Topology topology = one_switch(static_cast<std::uint32_t>(p), kAlpha, kSpeed);
    const ScheduleTime run = run_schedule(task_on(ring, topology, kBytes));
    const double steps = 2.0 * (p - 1);
    const double want = steps * kAlpha + steps / p * kBytes / kSpeed;
    EXPECT_NEAR(run.time_s, want, 1e-9 * want) << p;
    EXPECT_EQ(run.rounds, 2 * (p - 1));
    EXPECT_DOUBLE_EQ(run.messages, steps * p);
    EXPECT_NEAR(run.bytes, steps * kBytes, 1e-6 * run.bytes);
    EXPECT_LE(run.executed_messages, 8 * p) << "rounds that repeat themselves are not executed";
  }
}

// Rank 1 needs twice as long for each of its 2(p-1) messages, and everyone waits for it in turn.
TEST(ScheduleRun, OneSlowLinkSlowsTheRingAsComputedByHand) {
  const int p = 4;
  const collective::Schedule ring = made("ring", p);
  Topology topology = one_switch(p, kAlpha, kSpeed);
  topology.links[2 * 1].bytes_per_s = kSpeed / 2;
  const ScheduleTime run = run_schedule(task_on(ring, topology, kBytes));
  const double want = 6 * (kAlpha + 2 * kBytes / p / kSpeed);
  EXPECT_NEAR(run.time_s, want, 1e-12);
  EXPECT_EQ(run.executed_messages, 6 * p);
}

// Rank 2 comes d late. Until then the others stand at their first exchange with it; afterwards all
// rounds follow each other.
TEST(ScheduleRun, ALateRankDelaysEveryone) {
  const int p = 4;
  const double d = 0.01;
  const collective::Schedule ring = made("ring", p);
  const Topology topology = one_switch(p, kAlpha, kSpeed);
  ScheduleTask task = task_on(ring, topology, kBytes);
  task.late = {0, 0, d, 0};
  const double step = kAlpha + kBytes / p / kSpeed;
  EXPECT_NEAR(run_schedule(task).time_s, d + 6 * step, 1e-12);
}

TEST(ScheduleRun, RecordsEveryMessageWhenAsked) {
  const collective::Schedule ring = made("ring", 3);
  const Topology topology = one_switch(3, kAlpha, kSpeed);
  ScheduleTask task = task_on(ring, topology, 3e6);
  task.record = true;
  const ScheduleTime run = run_schedule(task);
  ASSERT_EQ(run.recorded.size(), 12u);
  for (const TimedMessage& m : run.recorded) {
    EXPECT_EQ(m.to, (m.from + 1) % 3);
    EXPECT_NEAR(m.end - m.start, kAlpha + 1e6 / kSpeed, 1e-12);
    EXPECT_NEAR(m.start, static_cast<double>(m.round) * (kAlpha + 1e6 / kSpeed), 1e-12);
  }
}

}  // namespace
}  // namespace weft
