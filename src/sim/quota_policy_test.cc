#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/random.h"
#include "sim/sim_testing.h"

namespace weft {
namespace {

TEST(Quota, BorrowedDevicesAreReclaimedAndLentAgain) {
  // b borrows what tenant 1 does not use. c reclaims it at 10, d has the guarantee after c, and b
  // resumes with 90 s to go when nobody of tenant 1 wants the devices.
  expect_scenario({"the borrower gives way to the owner and resumes after it",
                   "1x4",
                   "quota",
                   {{0, 2, 100, 0, kNever, 0},
                    {0, 2, 100, 0, kNever, 0},
                    {10, 2, 50, 0, kNever, 1},
                    {20, 2, 30, 0, kNever, 1}},
                   {0, 0, 10, 60},
                   {100, 180, 60, 90},
                   {"fifo", "drf", "priority"}});
}

TEST(Quota, ACohortReclaimsFromOtherCohortsBeforeItsOwnBorrowers) {
  // Shares 1:1 in cohort 0 and 2 in cohort 1. b borrows from tenant 1 (its own cohort), d from
  // tenant 1 as well but from outside; tenant 1 takes d's device first.
  expect_scenario({"the foreign borrower goes first",
                   "1x4",
                   "base: quota\nallocate: {part: quota, shares: [1, 1, 2], cohorts: [0, 0, 1]}\n",
                   {{0, 2, 100, 0, kNever, 2},
                    {0, 1, 100, 0, kNever, 0},
                    {0, 1, 100, 0, kNever, 2},
                    {10, 1, 20, 0, kNever, 1}},
                   {0, 0, 0, 10},
                   {100, 100, 120, 30},
                   {"fifo"}});
}

struct Burst {
  std::vector<JobRow> rows;
  double guarantee = 0;  // of every tenant
  bool single = false;   // every job asks for one device
};

// Follows the commands of a run without faults and checks each instant when it is over.
class QuotaWatch : public Journal {
 public:
  explicit QuotaWatch(const Burst& run) : run_(run) {}
  void event(const Event& e) override {
    next_instant(e.at);
    if (e.kind == EventKind::kSubmit) waiting_.insert(arrived_++);
    if (e.kind == EventKind::kFinished) placed_.erase(e.job);
  }
  void command(Seconds at, const Command& c) override {
    next_instant(at);
    EXPECT_TRUE(touched_.insert(c.job).second) << "job " << c.job << " twice at " << at;
    if (c.kind == CommandKind::kStart) {
      waiting_.erase(c.job);
      placed_.insert(c.job);
    } else {
      ++stops_;
      EXPECT_FALSE(was_own_.contains(c.job)) << "job " << c.job << " had its guarantee at " << at;
      placed_.erase(c.job);
      waiting_.insert(c.job);
    }
  }
  long stops() const { return stops_; }

 private:
  void next_instant(Seconds at) {
    if (at == now_) return;
    check();
    now_ = at;
    touched_.clear();
  }
  void check() {
    std::map<TenantId, double> used, own;
    std::set<TenantId> full;
    for (JobId id : placed_) used[run_.rows[id].tenant] += run_.rows[id].devices;
    for (JobId id = 0; id < arrived_; ++id) {
      if (!placed_.contains(id) && !waiting_.contains(id)) continue;
      const JobRow& row = run_.rows[id];
      if (row.devices > run_.guarantee || full.contains(row.tenant)) continue;
      own[row.tenant] += row.devices;
      if (own[row.tenant] > run_.guarantee) {
        full.insert(row.tenant);
      } else {
        was_own_.insert(id);
      }
    }
    if (!run_.single) return;
    for (JobId id : waiting_) {
      const TenantId tenant = run_.rows[id].tenant;
      EXPECT_GE(used[tenant], run_.guarantee) << "tenant " << tenant << " at " << now_;
    }
  }

  const Burst& run_;
  JobId arrived_ = 0;
  std::set<JobId> waiting_, placed_, touched_, was_own_;
  Seconds now_ = 0;
  long stops_ = 0;
};

Burst random_run(std::uint64_t seed, bool single) {
  Random random(seed);
  Burst run;
  run.single = single;
  run.guarantee = 4;  // 3 tenants of equal share on 12 devices
  Seconds at = 0;
  for (int i = 0; i < 120; ++i) {
    at += random.exponential(single ? 9 : 25);
    const std::uint32_t devices = single ? 1 : 1u << random.below(3);
    // Bursts of one tenant, so that there is something to borrow.
    const auto tenant = static_cast<TenantId>(random.chance(0.6) ? (i / 20) % 3 : random.below(3));
    run.rows.push_back({at, devices, random.exponential(100), 0, kNever, tenant});
  }
  return run;
}

TEST(Quota, WhatIsBorrowedIsReclaimedWithoutLoops) {
  const Cluster cluster = testing_cluster("3x4");
  const auto policy = testing_policy("base: quota\nallocate: {part: quota, shares: [1, 1, 1]}\n");
  long stops = 0;
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    for (bool single : {true, false}) {
      const Burst run = random_run(seed, single);
      QuotaWatch watch(run);
      const auto result =
          run_trace(cluster, testing_trace(run.rows), *policy, testing_options(), &watch);
      ASSERT_TRUE(result.ok()) << result.error().text();
      // A job reclaims once, and from no more jobs than it takes devices.
      long asked = 0;
      for (const JobRow& row : run.rows) asked += row.devices;
      EXPECT_LE(watch.stops(), asked);
      stops += watch.stops();
    }
  }
  EXPECT_GT(stops, 0);
}

TEST(Quota, ARefusedOwnerKeepsItsClaim) {
  ScenarioRow row{"",
                  "1x4",
                  "quota",
                  {{0, 2, 100, 0, kNever, 0}, {0, 2, 100, 0, kNever, 0}, {10, 2, 50, 0, kNever, 1}},
                  {}};
  row.options.channel.refusal = 0.5;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    row.options.seed = seed;
    const Lives lives = lives_under(row, row.policy);
    // c is held back at most 64 s at a time; b never takes its place for good.
    EXPECT_LT(lives.starts[2], 10 + 128) << "seed " << seed;
  }
}

}  // namespace
}  // namespace weft
