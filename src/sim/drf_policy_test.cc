#include <gtest/gtest.h>

#include "base/random.h"
#include "policy/allocators/fill.h"
#include "sim/sim_testing.h"

namespace weft {
namespace {

TEST(Drf, TheTenantWithLessIsServedFirst) {
  // At 100 both tenants hold nothing: the tie goes to tenant 0 (c), then tenant 1 has less (e).
  expect_scenario({"tenant 1 comes late and does not queue behind all of tenant 0",
                   "1x4",
                   "drf",
                   {{0, 2, 100, 0, kNever, 0},
                    {0, 2, 100, 0, kNever, 0},
                    {0, 2, 100, 0, kNever, 0},
                    {0, 2, 100, 0, kNever, 0},
                    {1, 2, 100, 0, kNever, 1}},
                   {0, 0, 100, 200, 100},
                   {},
                   {"fifo", "backfill", "quota"}});
}

// The example of the paper's §4.1 (9 CPUs, 18 GB; tasks of <1 CPU, 4 GB> and <3 CPUs, 1 GB>): the
// tenants end with 3 and 2 tasks, each with two thirds of what it needs most.
TEST(Drf, ExampleOfThePaper) {
  Cluster cluster = testing_cluster("1x18");
  cluster.nodes[0].cpu_milli = 9000;
  cluster.nodes[0].memory = 18 * kGiB;
  std::vector<JobRow> rows;
  for (int i = 0; i < 12; ++i) {
    const bool first = i < 6;
    rows.push_back({0, 1, 100, 0, kNever, static_cast<TenantId>(first ? 0 : 1), -1,
                    [first](Submission&, Menu& menu, Truth&) {
                      menu.configurations[0].cpu_milli = first ? 1000 : 3000;
                      menu.configurations[0].host_memory = (first ? 4 : 1) * kGiB;
                    }});
  }
  const auto result =
      run_trace(cluster, testing_trace(rows), *testing_policy("drf"), testing_options());
  ASSERT_TRUE(result.ok());
  int started[2] = {0, 0};
  for (size_t i = 0; i < rows.size(); ++i) {
    started[i / 6] += result->records[i].first_start == 0;
  }
  EXPECT_EQ(started[0], 3);
  EXPECT_EQ(started[1], 2);
}

// What progressive filling promises (§4): nobody got a task while a tenant with smaller share
// waited for one as large.
TEST(Drf, NobodyIsServedBeforeATenantWithLess) {
  const Cluster cluster = testing_cluster("4x8");
  const auto policy = testing_policy("drf");
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Random random(seed);
    State state(cluster);
    Change change;
    auto memory = policy->new_memory();
    const auto menu = std::make_shared<Menu>();
    menu->configurations.emplace_back();
    for (int round = 0; round < 4; ++round) {
      for (std::uint64_t n = 5 + random.below(15); n > 0; --n) {
        auto spec = std::make_shared<Submission>();
        spec->tenant = static_cast<TenantId>(random.below(4));
        spec->menu = menu;
        JobState& job = state.jobs.emplace_back();
        job.spec = spec;
        job.id = static_cast<JobId>(state.jobs.size() - 1);
        state.active.push_back(job.id);
        ++state.waiting;
      }
      double before[4], waiting[4] = {0, 0, 0, 0};
      for (TenantId t = 0; t < 4; ++t) before[t] = dominant_share(state, t);
      Draft draft(state);
      policy->decide(draft, change, *memory);
      for (JobId id : state.active) {
        waiting[state.job(id).spec->tenant] += state.job(id).phase == Phase::kWaiting;
      }
      for (TenantId t = 0; t < 4; ++t) {
        for (TenantId other = 0; other < 4; ++other) {
          const double share = dominant_share(state, t);
          if (share == before[t] || waiting[other] == 0) continue;
          EXPECT_LE(share - 1.0 / 32, dominant_share(state, other) + 1e-9) << "seed " << seed;
        }
      }
      for (JobId id : std::vector<JobId>(state.active)) {
        if (state.job(id).phase != Phase::kPlaced || random.chance(0.5)) continue;
        Draft(state).stop(id);
        state.jobs[id].phase = Phase::kEnded;
        --state.waiting;
        std::erase(state.active, id);
      }
    }
  }
}

}  // namespace
}  // namespace weft
