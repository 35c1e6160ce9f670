// Nodes and devices that go and come back, through the whole engine.
#include "sim/faults.h"

#include <gtest/gtest.h>

#include "sim/sim_testing.h"

namespace weft {
namespace {

SimOptions with_outages(std::vector<Outage> outages) {
  SimOptions options = testing_options();
  options.faults.recorded = std::move(outages);
  return options;
}

TEST(Faults, ADeviceThatFailsKillsItsJobAloneAndIsBackAfterItsRepair) {
  // a on device 0, b on device 1, c waits. a dies at 50, is back in the queue behind nobody, and
  // takes its device again at 80; c waits for b's.
  const RunResult result = testing_run("1x2", "fifo", {{0, 1, 100}, {0, 1, 100}, {10, 1, 5}},
                                       with_outages({{50, 0, 30, 0, /*device=*/0}}));
  EXPECT_EQ(result.records[0].restarts, 1);
  EXPECT_EQ(result.records[1].restarts, 0);
  EXPECT_EQ(result.records[0].end, 130);
  EXPECT_EQ(result.records[1].end, 100);
  EXPECT_EQ(result.records[2].first_start, 100);
}

TEST(Faults, AGangDoesNotUseADeviceThatIsOut) {
  const RunResult result = testing_run("1x4", "fifo", {{10, 4, 20}, {11, 3, 5}},
                                       with_outages({{5, 0, 95, 0, /*device=*/3}}));
  EXPECT_EQ(result.records[0].first_start, 100);
  const RunResult passing =
      testing_run("1x4", "base: fifo\nallocate: {part: list, backfill: any}\n",
                  {{10, 4, 20}, {11, 3, 5}}, with_outages({{5, 0, 95, 0, /*device=*/3}}));
  EXPECT_EQ(passing.records[1].first_start, 11) << "three of the four devices serve on";
}

struct OverlapRow {
  const char* sentence;
  std::vector<Outage> outages;
  Seconds start;  // of a job that comes at 60
};

TEST(Faults, AnOutageCountsUntilTheLastOfThoseThatOverlapIsOver) {
  const OverlapRow rows[] = {
      {"one outage", {{50, 0, 50, 0}}, 100},
      {"a longer one begins first", {{50, 0, 100, 0}, {55, 0, 20, 0}}, 150},
      {"a longer one begins later", {{50, 0, 20, 0}, {55, 0, 100, 0}}, 155},
      {"one follows on the heels of another", {{50, 0, 50, 0}, {100, 0, 30, 0}}, 130},
      {"the notice of the next comes while it is out", {{50, 0, 50, 0}, {110, 0, 5, 40}}, 115},
      {"a node and a device of it", {{50, 0, 50, 0}, {55, 0, 100, 0, 0}}, 155},
      {"a device and its node", {{50, 0, 100, 0, 0}, {55, 0, 20, 0}}, 150},
  };
  for (const OverlapRow& row : rows) {
    const RunResult result = testing_run("1x1", "fifo", {{60, 1, 10}}, with_outages(row.outages));
    EXPECT_EQ(result.records[0].first_start, row.start) << row.sentence;
  }
}

TEST(Faults, RecordedOutagesAndRatesHoldTogether) {
  SimOptions options = with_outages({{10, 0, 20, 0}});
  options.faults.node_mtbf = 200;
  options.faults.repair_mean = 1;
  const RunResult result = testing_run("1x1", "fifo", {{0, 1, 2000}}, options);
  EXPECT_GT(result.restarts, 3);
}

TEST(Faults, DevicesFailAtTheirRate) {
  SimOptions options = testing_options();
  options.faults.device_mtbf = 1000;
  options.faults.repair_mean = 1e-3;
  options.record_timeline = true;
  std::vector<JobRow> rows(8, JobRow{0, 1, 20000});
  const RunResult result = testing_run("2x4", "fifo", rows, options);
  // 8 devices, 20,000 s and a little: 160 failures expected, five standard deviations are 63.
  EXPECT_NEAR(static_cast<double>(result.gaps.size()), 160, 63);
  for (const Gap& gap : result.gaps) EXPECT_LT(gap.device, 8u);
  EXPECT_EQ(static_cast<size_t>(result.restarts), result.gaps.size());
}

TEST(Faults, WorkSinceTheLastCheckpointIsLostHoweverOftenTheSpeedChangedSince) {
  // a runs alone on half of a device until b joins it at 20 and slows it to a half: a's checkpoints
  // come every 50 s of running, the last at 50 with 20 + 15 done. The crash at 75 loses what came
  // after: 12.5 of work in 25 s.
  JobRow half{0, 1, 200};
  half.edit = [](Submission&, Menu& menu, Truth&) {
    menu.configurations.front().milli = 500;
    menu.configurations.front().rate = 1;
  };
  SimOptions options = with_outages({{75, 0, 5, 0}});
  options.checkpoint_interval = 50;
  JobRow second = half;
  second.submit = 20;
  const RunResult result = testing_run("1x1", "fifo", {half, second}, options);
  EXPECT_EQ(result.records[0].lost_work_s, 25);
  EXPECT_EQ(result.records[1].lost_work_s, 5) << "since 70, its own first checkpoint";
}

// Nothing else happens that would call a decision: who holds a job back must ask to be woken.
TEST(Faults, AServiceThatCrashedIsBackAsSoonAsItIsNoLongerHeldBack) {
  JobRow row{0, 1, 0};
  row.edit = [](Submission& job, Menu& menu, Truth& truth) {
    job.kind = WorkloadKind::kService;
    menu.configurations.front().rate = 10;
    truth.load = {{0, 10}};
    truth.service_end = 1000;
  };
  for (const char* policy : {"fifo", "2d-las", "hived", "spot-mix", "allox", "drf", "quota", "edf",
                             "themis", "shockwave"}) {
    // The first crash is followed by a start on the other device at once, which takes five seconds;
    // the second, before that is over, by one on the first device a second later.
    SimOptions options = with_outages({{100, 0, 1, 0, 0}, {102, 0, 500, 0, 1}});
    options.restart_cost = 5;
    const RunResult result = testing_run("1x2", policy, {row}, options);
    EXPECT_DOUBLE_EQ(result.served, 1 - (103 + 5 - 100) / 1000.0) << policy;
  }
}

constexpr const char* kAvoiding =
    "base: fifo\nplace: {part: first-fit}\n"
    "guards: [{part: failed-node-avoidance, seconds: 100}]\n";
constexpr const char* kTrusting = "base: fifo\nplace: {part: first-fit}\n";

TEST(FailedNodeAvoidance, NobodyIsPlacedOnANodeThatFailedWhileOthersSuffice) {
  // The node with the devices 0 and 1 fails at 10 and is back at 20. b at 30 goes to the other, c
  // at 31 takes what suffices, d at 200 trusts it again.
  SimOptions options = with_outages({{10, 0, 10, 0}});
  options.record_timeline = true;
  const std::vector<JobRow> rows = {{30, 1, 50}, {31, 2, 50}, {200, 1, 5}};
  const auto devices = [&](const char* policy) {
    std::vector<DeviceId> first(rows.size());
    for (const Span& span : testing_run("2x2", policy, rows, options).timeline)
      first[span.job] = span.device;
    return first;
  };
  EXPECT_EQ(devices(kTrusting), (std::vector<DeviceId>{0, 2, 0}));
  EXPECT_EQ(devices(kAvoiding), (std::vector<DeviceId>{2, 0, 0}));
}

TEST(FailedNodeAvoidance, AJobDoesNotReturnToTheNodeItFailedOn) {
  // It fails on node 0 at 10 and goes to node 1; when that fails for long, node 0 has to do.
  SimOptions options = with_outages({{10, 0, 5, 0}});
  options.record_timeline = true;
  const RunResult free = testing_run("2x1", kAvoiding, {{0, 1, 500}}, options);
  ASSERT_EQ(free.timeline.size(), 2u);
  EXPECT_EQ(free.timeline[1].device, 1u);
  options.faults.recorded = {{10, 0, 5, 0}, {300, 1, 500, 0}};
  const RunResult again = testing_run("2x1", kAvoiding, {{0, 1, 500}}, options);
  ASSERT_EQ(again.timeline.size(), 3u);
  EXPECT_EQ(again.timeline[2].device, 0u) << "the only one there is";
  EXPECT_EQ(again.timeline[2].from, 300) << "at once: it had run for long";
}

}  // namespace
}  // namespace weft
