#include <gtest/gtest.h>

#include "base/random.h"
#include "model/power.h"
#include "sim/sim_testing.h"

namespace weft {
namespace {

constexpr const char* kUncapped = "base: edf\nname: uncapped\n";

// For a second's work 400 J uncapped, 333 J at 300 W, 250 J at 200 W, and 333 J again at 100 W.
Cluster with_curve(Cluster cluster, double idle_watts) {
  for (DeviceType& type : cluster.types) {
    type.idle_watts = idle_watts;
    type.power = {{100, 0.3}, {200, 0.8}, {300, 0.9}, {400, 1}};
  }
  return cluster;
}

RunResult run_energy(const Cluster& cluster, const std::vector<JobRow>& jobs,
                     const std::string& policy) {
  Result<RunResult> result =
      run_trace(cluster, testing_trace(jobs), *testing_policy(policy), testing_options());
  if (!result.ok()) ADD_FAILURE() << result.error().text();
  CHECK(result.ok());
  return std::move(result).value();
}

// a and b have time for 200 W, at which 100 s take 125 s. If at 60 a job of both devices comes that
// must begin by 120, they have done 48 s and go uncapped for the other 52.
TEST(MinEnergy, SlackIsTurnedIntoLowerCaps) {
  const Cluster cluster = with_curve(testing_cluster("1x2"), 0);
  const std::vector<JobRow> jobs = {{0, 1, 100, 0, 130}, {0, 1, 100, 0, 250}};
  const RunResult alone = run_energy(cluster, jobs, "min-energy");
  EXPECT_EQ(alone.records[0].end, 125);
  EXPECT_EQ(alone.records[1].end, 125);
  EXPECT_DOUBLE_EQ(alone.energy_kwh, 2 * 125 * 200 / 3.6e6);
  EXPECT_DOUBLE_EQ(alone.peak_kw, 0.4);
  EXPECT_DOUBLE_EQ(run_energy(cluster, jobs, "edf").energy_kwh, 2 * 100 * 400 / 3.6e6);

  const RunResult pressed =
      run_energy(cluster, {jobs[0], jobs[1], {60, 2, 70, 0, 190}}, "min-energy");
  EXPECT_DOUBLE_EQ(pressed.records[0].end, 112) << "uncapped for the rest";
  EXPECT_DOUBLE_EQ(pressed.records[1].end, 112);
  EXPECT_NEAR(pressed.records[2].first_start, 112, 0.01);
  EXPECT_EQ(pressed.deadline_misses, 0);
}

// Two devices, 400 W in all: 200 W each. Alone, a job may have both shares if it gains by that.
TEST(MinEnergy, ALimitIsShared) {
  const Cluster cluster = with_curve(testing_cluster("1x2"), 0);
  const std::string limited =
      "base: min-energy\nallocate: {part: reserve, power: saving, limit-kw: 0.4, "
      "energy-weight: 0}\n";
  const RunResult together = run_energy(cluster, {{0, 1, 80}, {0, 1, 80}, {200, 1, 80}}, limited);
  EXPECT_EQ(together.records[0].end, 100);
  EXPECT_EQ(together.records[1].end, 100);
  EXPECT_EQ(together.records[2].end, 280) << "alone it draws 400 W";
  EXPECT_DOUBLE_EQ(together.peak_kw, 0.4);
}

// Even the lowest caps feed one of two nodes only.
TEST(MinEnergy, NodesStayDarkIfTheLimitDoesNotFeedThem) {
  const Cluster cluster = with_curve(testing_cluster("2x2"), 20);
  const RunResult result =
      run_energy(cluster, {{0, 2, 30}, {0, 2, 30}},
                 "base: min-energy\nallocate: {part: reserve, power: saving, limit-kw: 0.3}\n");
  EXPECT_EQ(result.records[0].end, 100);
  EXPECT_EQ(result.records[1].first_start, 100);
  EXPECT_LE(result.peak_kw, 0.3);
}

// a takes until 125 at 200 W, where edf and fifo are done at 100. b has no deadline, begins then,
// and gives way to c at 130.
TEST(MinEnergy, StartsMoveWithTheCaps) {
  const Cluster cluster = with_curve(testing_cluster("1x2"), 0);
  const std::vector<JobRow> jobs = {{0, 2, 100, 0, 140}, {0, 2, 100}, {130, 2, 50, 0, 500}};
  const RunResult saving = run_energy(cluster, jobs, "min-energy");
  EXPECT_EQ(saving.records[0].end, 125);
  EXPECT_EQ(saving.records[1].first_start, 125);
  EXPECT_EQ(saving.records[2].first_start, 130) << "b gives way";
  EXPECT_NEAR(saving.records[1].end, 130 + 50 / 0.8 + 96 / 0.8, 0.01);
  for (const char* sibling : {"fifo", "edf"}) {
    const RunResult fast = run_energy(cluster, jobs, sibling);
    EXPECT_EQ(fast.records[1].first_start, 100) << sibling;
  }
}

// An elastic job takes the size that needs least energy: 1 device at rate 1 costs less than 2
// at 1.6.
TEST(MinEnergy, TheMostEfficientSizeThatEndsInTime) {
  const Cluster cluster = with_curve(testing_cluster("1x2"), 0);
  JobRow row{0, 2, 160};
  row.edit = [](Submission& submission, Menu& menu, Truth&) {
    submission.elastic = true;
    menu.configurations[0].rate = 1.6;
    menu.configurations.push_back(menu.configurations[0]);
    menu.configurations[1].devices = 1;
    menu.configurations[1].rate = 1;
  };
  row.estimate = 100;
  row.deadline = 300;
  EXPECT_EQ(run_energy(cluster, {row}, "min-energy").records[0].end, 200) << "one device, 200 W";
  row.deadline = 150;
  EXPECT_DOUBLE_EQ(run_energy(cluster, {row}, "min-energy").records[0].end, 125)
      << "two devices, 200 W";
}

std::vector<JobRow> random_deadline_rows(Random& random, int count, Seconds gap,
                                         std::uint32_t widest) {
  std::vector<JobRow> rows;
  Seconds at = 0;
  for (int i = 0; i < count; ++i) {
    at += gap > 0 ? random.exponential(gap) : 0;
    JobRow row{at, std::min(widest, 1u << random.below(4)), random.log_normal(5, 1)};
    if (random.chance(0.7)) row.deadline = at + row.duration * random.uniform(1, 6);
    rows.push_back(row);
  }
  return rows;
}

double above_idle_kwh(const RunResult& run, const Cluster& cluster) {
  const double idle = cluster.types[0].idle_watts * cluster.device_count();
  return run.energy_kwh - idle * run.makespan_s / 3.6e6;
}

TEST(MinEnergyProperty, LessEnergyWithinTheLimitAndPromisesKept) {
  const Cluster cluster = with_curve(testing_cluster("2x8"), 40);
  const std::string reject =
      "base: min-energy\nallocate: {part: reserve, power: saving, refused: reject";
  double saved = 0, spent = 0;
  for (std::uint64_t seed = 1; seed <= 25; ++seed) {
    Random random(seed);
    const std::vector<JobRow> jobs = random_deadline_rows(random, 60, 60, 8);
    const RunResult saving = run_energy(cluster, jobs, "min-energy");
    const RunResult full = run_energy(cluster, jobs, kUncapped);
    EXPECT_LE(above_idle_kwh(saving, cluster), above_idle_kwh(full, cluster) + 1e-9) << seed;
    saved += above_idle_kwh(saving, cluster);
    spent += above_idle_kwh(full, cluster);
    EXPECT_EQ(run_energy(cluster, jobs, reject + "}\n").deadline_misses, 0) << seed;
    const RunResult limited = run_energy(cluster, jobs, reject + ", limit-kw: 3.5}\n");
    EXPECT_EQ(limited.deadline_misses, 0) << seed;
    EXPECT_LE(limited.peak_kw, 3.5 + 1e-9) << seed;
    EXPECT_GT(full.peak_kw, 3.5) << "the limit would not matter";
  }
  EXPECT_LT(saved, 0.8 * spent);
}

// Jobs submitted together: whoever fifo serves in time at full power is in time with caps. (With
// later arrivals nobody could promise that: time once given up for energy does not come back.)
TEST(MinEnergyProperty, WhatFifoKeepsIsKept) {
  const Cluster cluster = with_curve(testing_cluster("1x8"), 40);
  long kept = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Random random(seed);
    std::vector<JobRow> jobs = random_deadline_rows(random, 12, 0, 8);
    for (JobRow& row : jobs) row.deadline = random.uniform(1, 4) * 300 + row.duration;
    const RunResult fifo = run_energy(cluster, jobs, "fifo");
    const RunResult saving = run_energy(cluster, jobs, "min-energy");
    for (size_t i = 0; i < jobs.size(); ++i) {
      if (fifo.records[i].end + 1 > jobs[i].deadline) continue;
      ++kept;
      EXPECT_LE(saving.records[i].end, jobs[i].deadline) << "seed " << seed << ", job " << i;
    }
  }
  EXPECT_GT(kept, 100);
}

}  // namespace
}  // namespace weft
