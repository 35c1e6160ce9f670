// HiveD: what a tenant owns it gets, whatever the others do.
#include <cmath>

#include "base/random.h"
#include "sim/sim_testing.h"

namespace weft {
namespace {

const char* const kOneNodeEach = "{base: hived, allocate: {part: cells, quotas: [1, 1]}}";

JobRow row(Seconds submit, std::uint32_t devices, Seconds duration, TenantId tenant,
           std::int32_t priority = 0) {
  JobRow out{submit, devices, duration, priority};
  out.tenant = tenant;
  return out;
}

// Two nodes of 4, one owned by each tenant. a fills tenant 0's node. b waits for it though tenant
// 1's node is free. c is opportunistic and takes that node; d, of tenant 1, sends it away at 20.
// e needs two devices of tenant 1 while d holds four: it starts after d, at 40. c, which needs four
// and has done 10 of its 50 seconds, goes on when e has ended, at 50.
TEST(HivedPolicy, OwnersTakeTheirCellsFromGuests) {
  expect_scenario({"owned cells",
                   "2x4",
                   kOneNodeEach,
                   {row(0, 4, 100, 0), row(5, 2, 50, 0), row(10, 4, 50, 0, -1), row(20, 4, 20, 1),
                    row(25, 2, 10, 1)},
                   {0, 100, 10, 20, 40},
                   {100, 150, 90, 40, 50},
                   {"fifo", "priority", "hived"}});
}

// One node of 4, one owner. a and b share a pair, c opens the other. b's end leaves one device free
// in each pair, so d, which asks for two, waits for a's end.
TEST(HivedPolicy, CellsAreAligned) {
  expect_scenario({"buddy cells",
                   "1x4",
                   "hived",
                   {row(0, 1, 100, 0), row(1, 1, 10, 0), row(2, 1, 100, 0), row(12, 2, 10, 0)},
                   {0, 1, 2, 100},
                   {},
                   {"fifo"}});
}

std::vector<JobRow> random_tenant_rows(std::uint64_t seed, int jobs, bool guests) {
  Random random(seed);
  std::vector<JobRow> rows;
  Seconds submit = 0;
  for (int i = 0; i < jobs; ++i) {
    submit += std::ceil(random.exponential(15));
    const auto tenant = static_cast<TenantId>(random.below(2));
    const bool guest = random.chance(0.3);
    JobRow next = row(submit, 1u << random.below(tenant == 0 ? 5 : 4),
                      std::ceil(random.uniform(5, 200)), tenant, guest ? -1 : 0);
    if (guests || !guest) rows.push_back(next);
  }
  return rows;
}

std::vector<JobRecord> records(const std::string& cluster_text, const std::vector<JobRow>& rows,
                               const std::string& policy_name,
                               const SimOptions& options = testing_options()) {
  const Cluster cluster = testing_cluster(cluster_text);
  const Trace trace = testing_trace(rows);
  const std::unique_ptr<Policy> policy = testing_policy(policy_name);
  Result<RunResult> result = run_trace(cluster, trace, *policy, options);
  CHECK_MSG(result.ok(), result.ok() ? "" : result.error().text().c_str());
  return result->records;
}

// OSDI'20 §1 and §5.2: no tenant waits longer than it would on a cluster of its own.
TEST(HivedPolicy, NoSharingAnomalyOnRandomTraces) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    const std::vector<JobRow> all = random_tenant_rows(seed, 60, true);
    const auto shared = records("5x8", all,
                                "{base: hived, allocate: {part: cells, "
                                "quotas: [3, 2]}}");
    for (TenantId tenant = 0; tenant < 2; ++tenant) {
      std::vector<JobRow> own;
      std::vector<size_t> at;
      for (size_t i = 0; i < all.size(); ++i) {
        if (all[i].tenant != tenant || all[i].priority < 0) continue;
        own.push_back(all[i]);
        at.push_back(i);
      }
      const auto alone = records(tenant == 0 ? "3x8" : "2x8", own, "hived");
      for (size_t i = 0; i < own.size(); ++i) {
        EXPECT_DOUBLE_EQ(shared[at[i]].first_start, alone[i].first_start)
            << "seed " << seed << " tenant " << tenant << " job " << at[i];
        EXPECT_EQ(shared[at[i]].restarts, 0);
      }
    }
  }
}

TEST(HivedPolicy, SurvivesDelayLossRefusalAndFailures) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SimOptions options = testing_options();
    options.seed = seed;
    options.channel = {2, 0.1, 0.1, 0.1};
    options.faults.node_mtbf = 2000;
    options.faults.repair_mean = 200;
    const auto got = records("5x8", random_tenant_rows(seed, 40, true),
                             "{base: hived, allocate: {part: cells, quotas: [3, 2]}}", options);
    for (const JobRecord& record : got) EXPECT_LT(record.end, kNever);
  }
}

}  // namespace
}  // namespace weft
