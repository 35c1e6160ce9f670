#include "timing/iteration/sim.h"

#include <gtest/gtest.h>

#include "timing/iteration/iteration_testing.h"

namespace weft {
namespace {

// Two layers: backward b 2, then a 2; forward a 1, then b 1. Gradients: a 2 bytes, b 6; 1 byte/s.
TestJob two_layers(Seconds overhead = 0, Seconds latency = 0) {
  return chain_job({{"a", 1, 2, 2, 0, {}}, {"b", 1, 2, 6, 0, {}}}, 1, overhead, latency);
}

struct SimRow {
  const char* why;
  double slice, credit;
  bool by_use, concurrent;
  Seconds overhead, latency, want;
};

TEST(SimulateIterations, HandComputed) {
  const double all = kNoLimit;
  const std::vector<SimRow> table = {
      // b's 6 bytes at 2..8, a's 2 at 8..10, forward a 10..11, b 11..12.
      {"as produced: the first layer waits behind the last", all, all, false, false, 0, 0, 12},
      // a's bytes overtake at 4..6: forward a 6..7; b's bytes 2..4 and 6..10: forward b 10..11.
      {"slices by first use", 1, 0, true, false, 0, 0, 11},
      // Taken before a was ready, b's slices cannot be overtaken any more.
      {"slices by first use, but no credit limit", 1, all, true, false, 0, 0, 12},
      // b alone 2..4 (2 of 6); then halves: a's 2 by 8, b's last 2 by 10.
      {"each a flow", all, all, false, true, 0, 0, 11},
      // Overheads 2..3 and 9..10; arrivals at 9 + 1 and 12 + 1; forward 13..15.
      {"whole tensors with overhead and latency", all, all, false, false, 1, 1, 15},
      // The same one at a time: the second message begins when the first has arrived.
      {"one at a time pays the latency twice", all, 0, false, false, 1, 1, 16},
  };
  for (const SimRow& row : table) {
    SCOPED_TRACE(row.why);
    const TestJob job = two_layers(row.overhead, row.latency);
    TransferPlan plan = sliced_plan(job.graph, row.slice,
                                    row.by_use ? first_use(job.graph) : std::vector<double>{});
    plan.credit_bytes = row.credit;
    plan.concurrent = row.concurrent;
    EXPECT_NEAR(iteration_alone(job, plan), row.want, 1e-9);
  }
}

TEST(SimulateIterations, PullsFollowPushesSliceBySlice) {
  TrainingNetwork network;
  network.exchange = Exchange::kParameterServer;
  network.servers = 2;
  network.path = {0};
  network.back_path = {1};
  const std::vector<LayerSpec> layers = {{"a", 1, 2, 4, 0, {}}};
  TestJob job{{1, 1}, {}};
  job.graph = layers_graph(layers, network, job.links);
  EXPECT_NEAR(iteration_alone(job, sliced_plan(job.graph, kNoLimit, {})), 2 + 4 + 4 + 1, 1e-9);
  EXPECT_NEAR(iteration_alone(job, sliced_plan(job.graph, 1, {})), 2 + 4 + 1 + 1, 1e-9);
}

TEST(SimulateIterations, TooSmallSlicesCost) {
  const TestJob job = two_layers(0.1, 0.1);
  double before = 0;
  for (double slice : {1.0, 0.1, 0.01}) {
    TransferPlan plan = sliced_plan(job.graph, slice, first_use(job.graph));
    plan.credit_bytes = 0;
    const Seconds took = iteration_alone(job, plan);
    EXPECT_GT(took, before);
    before = took;
  }
  EXPECT_GT(before, 100) << "800 overheads of 0.1 s";
}

IterationSetting setting_of(const TestJob& job) {
  IterationSetting setting;
  setting.graph = &job.graph;
  setting.plan = sliced_plan(job.graph, kNoLimit, {});
  return setting;
}

TEST(SimulateIterations, StrictRanksServeOneJobAsIfAlone) {
  const TestJob job = two_layers();
  std::vector<IterationSetting> settings = {setting_of(job), setting_of(job)};
  settings[1].rate.rank = 1;
  const IterationRun run = simulate_iterations(job.links, settings, {10, 20, false});
  EXPECT_NEAR(steady_iteration(run.jobs[0]), 12, 1e-9);
  EXPECT_GE(steady_iteration(run.jobs[1]), 12);
}

TEST(SimulateIterations, AJobThatStarvesIsSaidToBe) {
  // The first job leaves the link no pause: its first layer needs nothing and it always has bytes.
  IterationGraph busy;
  busy.devices = {"d"};
  busy.wires = {make_wire("w", {0}, 1, 0, 0, std::vector<double>{1})};
  busy.ops = {{"t", true, 0, 1, {}}};
  IterationSetting first;
  first.graph = &busy;
  first.plan = sliced_plan(busy, kNoLimit, {});
  const TestJob job = two_layers();
  std::vector<IterationSetting> settings = {first, setting_of(job)};
  settings[1].rate.rank = 1;
  const IterationRun run = simulate_iterations(job.links, settings, {4, 20, false});
  EXPECT_EQ(steady_iteration(run.jobs[1]), kNever);
  EXPECT_NEAR(steady_iteration(run.jobs[0]), 1, 1e-9);
}

TEST(SimulateIterations, FlowsThatEndTogetherAreNotMistakenForEachOther) {
  // Weights by progress hand each message over in parts; both jobs' parts end at the same moments.
  const TestJob job = two_layers();
  std::vector<IterationSetting> settings = {setting_of(job), setting_of(job)};
  settings[0].by_progress = settings[1].by_progress = true;
  const IterationRun run = simulate_iterations(job.links, settings, {6, 20, false});
  EXPECT_NEAR(steady_iteration(run.jobs[0]), steady_iteration(run.jobs[1]), 1e-9);
  EXPECT_GT(steady_iteration(run.jobs[0]), 12);
}

TEST(SimulateIterations, ShiftsHoldIterationsBack) {
  const TestJob job = two_layers();
  IterationSetting setting = setting_of(job);
  setting.start = 1;
  setting.shift = {4, 20};
  const IterationRun run = simulate_iterations(job.links, {&setting, 1}, {3, 20, true});
  EXPECT_EQ(run.jobs[0].ends, (std::vector<Seconds>{17, 37, 57}));
  EXPECT_EQ(run.jobs[0].start, 5);
  ASSERT_EQ(run.spans.size(), 3u * 6);
  EXPECT_EQ(run.spans[0].begin, 5);
}

}  // namespace
}  // namespace weft
