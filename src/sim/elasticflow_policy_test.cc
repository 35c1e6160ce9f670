#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "sim/sim_testing.h"

namespace weft {
namespace {

constexpr const char* kRejecting =
    "base: elasticflow\nallocate: {part: min-share, refused: reject}\n";

// Asks for one device; speeds on 1, 2 and 4.
JobRow with_deadline(Seconds submit, Seconds work, Seconds deadline) {
  JobRow row;
  row.submit = submit;
  row.duration = work;
  row.deadline = deadline;
  row.edit = [](Submission& submission, Menu& menu, Truth&) {
    submission.elastic = true;
    menu.configurations.resize(3, menu.configurations.front());
    menu.configurations[1].devices = 2;
    menu.configurations[1].rate = 1.8;
    menu.configurations[2].devices = 4;
    menu.configurations[2].rate = 3;
  };
  return row;
}

SimOptions with_restarts(Seconds cost) {
  SimOptions options = testing_options();
  options.start_cost = options.restart_cost = cost;
  return options;
}

// One device is enough for a (1030 s), but nobody else wants the other three: 4 from 0 on. b needs
// 2 (252.2 s; 430 s on one), so at 100 a shrinks to the 2 that are left, pays a restart, and has
// 790 to do at 1.8. c has no deadline and waits for b; then one device is free, of which a makes
// nothing.
TEST(ElasticFlow, SharesGrowAndShrinkAsDeadlinesAllow) {
  ScenarioRow row{"b is admitted on more than it asked for",
                  "1x4",
                  "elasticflow",
                  {with_deadline(0, 1000, 1100), with_deadline(100, 400, 370), {110, 1, 500}},
                  {0, 100, 130 + 400 / 1.8},
                  {130 + 790 / 1.8, 130 + 400 / 1.8, 130 + 400 / 1.8 + 530},
                  {"fifo", "edf", "afs", "sia"}};
  row.options = with_restarts(30);
  expect_scenario(row);
}

// b cannot end by 100 on any share, c not by 400 beside a. Refused, they are best effort. d can,
// and has 2 of the devices that b leaves over.
TEST(ElasticFlow, WhatCannotBeKeptIsNotPromised) {
  const std::vector<JobRow> jobs = {{0, 4, 300, 0, 400},
                                    with_deadline(10, 600, 100),
                                    {20, 4, 100, 0, 400},
                                    with_deadline(20, 60, 900)};
  expect_scenario({"a promise is worth its devices",
                   "1x4",
                   "elasticflow",
                   jobs,
                   {0, 300, 900, 300},
                   {300, 900, 1000, 300 + 60 / 1.8},
                   {"fifo"}});
  const auto policy = testing_policy(kRejecting);
  const auto result =
      run_trace(testing_cluster("1x4"), testing_trace(jobs), *policy, testing_options());
  ASSERT_TRUE(result.ok());
  for (size_t i : {1, 2}) EXPECT_TRUE(result->records[i].rejected) << i;
  for (size_t i : {0, 3}) EXPECT_FALSE(result->records[i].rejected) << i;
}

// Jobs on one or two device types; some elastic, some firm, most with deadlines.
Trace random_deadline_trace(Random& random, const Cluster& cluster, int count) {
  std::vector<JobRow> rows;
  Seconds at = 0;
  for (int i = 0; i < count; ++i) {
    at += random.exponential(50);
    JobRow row{at, 1u << random.below(4), random.log_normal(5.5, 0.8)};
    if (random.chance(0.8)) row.deadline = at + 30 + row.duration * random.uniform(0.4, 4);
    row.edit = [&](Submission& submission, Menu& menu, Truth&) {
      submission.elastic = random.chance(0.7);
      submission.preemptible = random.chance(0.9);
      const Configuration asked = menu.configurations.front();
      if (!submission.elastic) return;
      const double scaling = random.uniform(0.5, 1);
      for (TypeId type = 0; type < cluster.types.size(); ++type) {
        for (std::uint32_t devices = 1; devices <= 16; devices *= 2) {
          Configuration& c = menu.configurations.emplace_back(asked);
          c.type = type;
          c.devices = devices;
          c.rate = (type == 0 ? 1 : 0.6) * std::pow(devices / double(asked.devices), scaling);
        }
      }
    };
    rows.push_back(row);
  }
  return testing_trace(rows);
}

// The paper's guarantee: an admitted job ends in time. And its headline: more jobs do than without
// elasticity.
TEST(ElasticFlow, AdmittedJobsNeverMiss) {
  const auto elasticflow = testing_policy(kRejecting);
  const auto edf = testing_policy("base: edf\nallocate: {part: reserve, refused: reject}\n");
  long in_time = 0, in_time_edf = 0, rejected = 0, restarts = 0;
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    Random random(seed);
    const Cluster cluster = testing_cluster(seed % 2 == 0 ? "3x8" : "fast:2x8,slow:3x4");
    const Trace trace = random_deadline_trace(random, cluster, 60);
    SimOptions options = with_restarts(seed % 3 == 0 ? 0 : 30);
    const auto result = run_trace(cluster, trace, *elasticflow, options);
    ASSERT_TRUE(result.ok()) << result.error().text();
    EXPECT_EQ(result->deadline_misses, 0) << "seed " << seed;
    in_time += result->with_deadline;
    rejected += result->rejected;
    restarts += result->restarts;
    const auto booked = run_trace(cluster, trace, *edf, with_restarts(0));
    ASSERT_TRUE(booked.ok());
    in_time_edf += booked->with_deadline - booked->deadline_misses;
  }
  EXPECT_GT(rejected, 0);
  EXPECT_GT(restarts, 0);
  EXPECT_GT(in_time, in_time_edf);
}

// A job alone is admitted exactly if it ends in time on the fastest share it can have.
TEST(ElasticFlow, AJobThatFitsAnEmptyClusterIsAdmitted) {
  const auto policy = testing_policy(kRejecting);
  const Cluster cluster = testing_cluster("2x8");
  long admitted = 0, refused = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Random random(seed);
    const Trace trace = random_deadline_trace(random, cluster, 1);
    const Submission& spec = *trace.jobs[0].submission;
    double fastest = spec.requested().rate;
    for (const Configuration& c : spec.menu->configurations) fastest = std::max(fastest, c.rate);
    const Seconds end = spec.submit + 30 + trace.jobs[0].truth.work / fastest;
    const auto result = run_trace(cluster, trace, *policy, with_restarts(30));
    ASSERT_TRUE(result.ok());
    const bool fits = end + 0.01 < spec.deadline;
    EXPECT_EQ(result->records[0].rejected, !fits) << "seed " << seed;
    (fits ? admitted : refused) += 1;
  }
  EXPECT_GT(admitted, 50);
  EXPECT_GT(refused, 5);
}

}  // namespace
}  // namespace weft
