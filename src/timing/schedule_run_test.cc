#include "timing/schedule_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "timing/timing_testing.h"

namespace weft {
namespace {

// The usual example: 5 us a message, 12.5 GB/s, 100 MB.
constexpr double kAlpha = 5e-6, kSpeed = 12.5e9, kBytes = 100e6;
constexpr const char* kSwitch = "switch:latency=5us,bandwidth=12.5GB/s";

ScheduleTime timed_on(const char* algorithm, const collective::Request& request,
                      const Topology& topology, double bytes) {
  const collective::Schedule schedule = made(algorithm, request);
  return run_schedule(task_on(schedule, topology, bytes));
}

TEST(ScheduleRun, RingTakesWhatTheClosedFormSays) {
  for (int p : {2, 3, 8, 64, 1024}) {
    const ScheduleTime run =
        timed_on("ring", {.ranks = p}, topology_of(kSwitch, std::max(2, p)), kBytes);
    const double steps = 2.0 * (p - 1);
    const double want = steps * kAlpha + steps / p * kBytes / kSpeed;
    EXPECT_NEAR(run.time_s, want, 1e-9 * want) << p;
    EXPECT_EQ(run.rounds, 2 * (p - 1));
    EXPECT_DOUBLE_EQ(run.messages, steps * p);
    EXPECT_NEAR(run.bytes, steps * kBytes, 1e-6 * run.bytes);
    EXPECT_LE(run.executed_messages, 8 * p) << "rounds that repeat themselves are not executed";
  }
}

TEST(ScheduleRun, HalvingDoublingTakesWhatTheClosedFormSays) {
  for (int p : {2, 8, 64, 1024}) {
    const ScheduleTime run =
        timed_on("halving-doubling", {.ranks = p}, topology_of(kSwitch, p), kBytes);
    const double want = 2 * std::log2(p) * kAlpha + 2.0 * (p - 1) / p * kBytes / kSpeed;
    EXPECT_NEAR(run.time_s, want, 1e-9 * want) << p;
  }
}

TEST(ScheduleRun, SwitchesThatAddUpTakeTwoLatenciesAndOneTransfer) {
  for (int p : {2, 8, 64, 1024}) {
    const ScheduleTime run =
        timed_on("in-network", {.ranks = p, .per_node = p}, topology_of(kSwitch, p), kBytes);
    EXPECT_NEAR(run.time_s, 2 * kAlpha + kBytes / kSpeed, 1e-9 * run.time_s) << p;
  }
}

// Two levels: ranks to leaves, leaves to a spine, and back, all streaming.
TEST(ScheduleRun, TwoLevelsOfSwitchesTakeFourLatencies) {
  const Topology clos = topology_of("clos:hosts=16,radix=8,bandwidth=12.5GB/s,latency=5us");
  const collective::Schedule schedule = made("in-network", {.ranks = 16, .per_node = 4});
  ScheduleTask task = task_on(schedule, clos, kBytes);
  for (std::size_t leaf = 0; leaf < 4; ++leaf) {
    task.placement.vertex[16 + leaf] = *clos.names.find("leaf" + std::to_string(leaf));
  }
  task.placement.vertex[20] = *clos.names.find("spine0");
  EXPECT_NEAR(run_schedule(task).time_s, 4 * kAlpha + kBytes / kSpeed, 1e-12);
}

// 16^3 ranks, 1 GB, 50 GB/s a link and direction: each of six directions carries a sixth of the
// 2(p-1)/p n, or one dimension after the other a half.
TEST(ScheduleRun, TorusUsesAllLinksAtOnce) {
  const Topology torus = topology_of("torus:16x16x16,bandwidth=50GB/s,latency=0s");
  const collective::Request request{.ranks = 4096, .dims = {16, 16, 16}};
  EXPECT_NEAR(timed_on("torus", request, torus, 1e9).time_s, 6.67e-3, 0.001 * 6.67e-3);
  EXPECT_NEAR(timed_on("torus-sequential", request, torus, 1e9).time_s, 20.0e-3, 0.001 * 20e-3);
}

// Rank 1 needs twice as long for each of its 2(p-1) messages, and everyone waits for it in turn.
TEST(ScheduleRun, OneSlowLinkSlowsTheRingAsComputedByHand) {
  const int p = 4;
  Topology topology = topology_of(kSwitch, p);
  for (DirectedLink& link : topology.links) {
    if (link.from == 1) link.bytes_per_s = kSpeed / 2;
  }
  const ScheduleTime run = timed_on("ring", {.ranks = p}, topology, kBytes);
  EXPECT_NEAR(run.time_s, 6 * (kAlpha + 2 * kBytes / p / kSpeed), 1e-12);
  EXPECT_EQ(run.executed_messages, 6 * p);
}

// Rank 1's exchanges of n/2, n/4, n/4, n/2 bytes take twice as long one way; its partners wait.
TEST(ScheduleRun, OneSlowLinkSlowsHalvingDoublingAsComputedByHand) {
  Topology topology = topology_of(kSwitch, 4);
  for (DirectedLink& link : topology.links) {
    if (link.from == 1) link.bytes_per_s = kSpeed / 2;
  }
  const ScheduleTime run = timed_on("halving-doubling", {.ranks = 4}, topology, kBytes);
  EXPECT_NEAR(run.time_s, 4 * kAlpha + 2 * 1.5 * kBytes / kSpeed, 1e-12);
}

// Rank 2 comes d late. Until then the others stand at their first exchange with it; afterwards all
// rounds follow each other.
TEST(ScheduleRun, ALateRankDelaysEveryone) {
  const int p = 4;
  const double d = 0.01;
  const collective::Schedule ring = made("ring", {.ranks = p});
  const Topology topology = topology_of(kSwitch, p);
  ScheduleTask task = task_on(ring, topology, kBytes);
  task.late = {0, 0, d, 0};
  const double step = kAlpha + kBytes / p / kSpeed;
  EXPECT_NEAR(run_schedule(task).time_s, d + 6 * step, 1e-12);
}

TEST(ScheduleRun, RecordsEveryMessageWhenAsked) {
  const collective::Schedule ring = made("ring", {.ranks = 3});
  const Topology topology = topology_of(kSwitch, 3);
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

// Two leaves of four hosts under two spines. D-mod-K sends what goes to even hosts by one spine; a
// hash may send both by the same; spraying uses half of each.
TEST(ScheduleRun, PathRulesDecideWhoShares) {
  const Topology clos = topology_of(
      "clos:hosts=8,hosts_per_leaf=4,spines=2,bandwidth=12.5GB/s,uplink_bandwidth=25GB/"
      "s,latency=0s");
  // Everybody sends to the host four further on.
  collective::Schedule shift =
      made("direct", {.operation = collective::Operation::kAllToAll, .ranks = 8});
  ScheduleTask task = task_on(shift, clos, 8e6);
  for (const char* rule : {"ecmp", "d-mod-k", "least-loaded", "rail", "spray:2"}) {
    task.paths = *parse_path_rule(rule);
    const double time = run_schedule(task).time_s;
    const double best = 7e6 / 12.5e9;
    EXPECT_GE(time, best * (1 - 1e-12)) << rule;
    if (std::string(rule) == "d-mod-k" || std::string(rule) == "spray:2") {
      EXPECT_NEAR(time, best, 1e-9) << rule;
    }
  }
}

// Whatever is skipped, the answer is that of executing everything.
TEST(ScheduleRun, CountingRepeatsChangesNothing) {
  const Topology clos = topology_of("clos:hosts=16,radix=8,oversubscription=2,bandwidth=100Gb/s");
  for (const collective::Algorithm& algorithm : collective::algorithms()) {
    collective::Request request{.operation = algorithm.operation, .ranks = 16};
    request.chunks = 8;
    request.per_node = 4;
    request.dims = {4, 4};
    if (!algorithm.refusal(request).empty()) continue;
    const collective::Schedule schedule = algorithm.make(request);
    ScheduleTask task = task_on(schedule, clos, 1e6);
    const ScheduleTime quick = run_schedule(task);
    task.record = true;
    const ScheduleTime slow = run_schedule(task);
    EXPECT_NEAR(quick.time_s, slow.time_s, 1e-12 * slow.time_s) << algorithm.name;
    EXPECT_EQ(quick.messages, slow.messages) << algorithm.name;
    EXPECT_EQ(quick.rounds, slow.rounds) << algorithm.name;
    EXPECT_GT(slow.time_s, 0) << algorithm.name;
  }
}

}  // namespace
}  // namespace weft
