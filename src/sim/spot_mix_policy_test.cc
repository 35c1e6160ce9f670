// Spot mix: cheap nodes while there is time, steady ones when there is none.
#include <cmath>

#include "base/random.h"
#include "sim/sim_testing.h"

namespace weft {
namespace {

// The first `spot` nodes are revocable and cost a third.
Cluster mixed(const std::string& shorthand, NodeId spot) {
  Cluster cluster = testing_cluster(shorthand);
  cluster.prices = {{{0, 3.0}}, {{0, 1.0}}};
  for (NodeId id = 0; id < cluster.nodes.size(); ++id) {
    cluster.nodes[id].node_class = id < spot ? NodeClass::kSpot : NodeClass::kOnDemand;
    cluster.nodes[id].price = id < spot ? 1 : 0;
  }
  return cluster;
}

JobRow due(Seconds submit, std::uint32_t devices, Seconds duration, Seconds deadline) {
  return {submit, devices, duration, 0, deadline};
}

RunResult run_spot(const Cluster& cluster, const std::vector<JobRow>& rows,
                   const std::string& policy, const SimOptions& options) {
  const Trace trace = testing_trace(rows);
  Result<RunResult> result = run_trace(cluster, trace, *testing_policy(policy), options);
  CHECK_MSG(result.ok(), result.ok() ? "" : result.error().text().c_str());
  return std::move(result).value();
}

std::vector<Seconds> starts(const RunResult& result) {
  std::vector<Seconds> all;
  for (const JobRecord& record : result.records) all.push_back(record.first_start);
  return all;
}

// Node 0 is spot and away from 50 to 150; node 1 is on-demand. a has done 50 of 100 seconds at 50,
// where the line to its deadline asks for 5: it waits for the spot node's return at 150 and ends at
// 200. So b starts at once on the on-demand node, and c after it. Under fifo and edf a moves to the
// on-demand node at 50 and c, or b and c, wait for it.
TEST(SpotMixPolicy, AJobThatIsAheadWaitsForSpotNodes) {
  const Cluster cluster = mixed("2x1", 1);
  SimOptions options = testing_options();
  options.faults.recorded = {{50, 0, 100, 0}};
  const std::vector<JobRow> rows = {due(0, 1, 100, 1000), due(60, 1, 30, 100),
                                    due(95, 1, 10, 2000)};
  const RunResult got = run_spot(cluster, rows, "spot-mix", options);
  EXPECT_EQ(starts(got), (std::vector<Seconds>{0, 60, 95}));
  EXPECT_DOUBLE_EQ(got.records[0].end, 200);
  EXPECT_NE(starts(got), starts(run_spot(cluster, rows, "fifo", options)));
  EXPECT_NE(starts(got), starts(run_spot(cluster, rows, "edf", options)));
}

TEST(SpotMixPolicy, AJobThatFallsBehindTakesAnOnDemandNode) {
  // Away for good after half of the work. The line to 550 has half of the work at 275; the last
  // moment with two changeovers of 60 s in hand is 550 - 50 - 120 = 380.
  const Cluster cluster = mixed("2x1", 1);
  SimOptions options = testing_options();
  options.faults.recorded = {{50, 0, 5000, 0}};
  const RunResult got = run_spot(cluster, {due(0, 1, 100, 550)}, "spot-mix", options);
  EXPECT_DOUBLE_EQ(got.records[0].end, 275 + 50);  // the line: half of 550
  const RunResult late = run_spot(cluster, {due(0, 1, 100, 230)}, "spot-mix", options);
  EXPECT_DOUBLE_EQ(late.records[0].end, 60 + 50);  // the safety net: 230 - 50 - 120
}

// NSDI'24 §4: where on-demand devices suffice, no deadline is missed whatever the spot nodes do,
// and it costs no more than on-demand devices alone.
TEST(SpotMixPolicy, NoDeadlineIsMissedOnRandomTraces) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed);
    std::vector<JobRow> rows;
    Seconds submit = 0, work = 0;
    for (int i = 0; i < 12; ++i) {
      submit += std::ceil(random.exponential(200));
      const Seconds duration = std::ceil(random.uniform(100, 1000));
      const auto devices = static_cast<std::uint32_t>(1 + random.below(2));
      rows.push_back(
          due(submit, devices, duration, submit + 130 + duration * random.uniform(1.1, 4)));
      work += duration * devices;
    }
    SimOptions options = testing_options();
    options.seed = seed;
    options.faults.spot_mtbf = 400;
    options.faults.spot_gone_mean = 400;
    options.faults.spot_notice = 0;
    const RunResult got = run_spot(mixed("16x2", 4), rows, "spot-mix", options);
    EXPECT_EQ(got.deadline_misses, 0) << "seed " << seed;
    EXPECT_EQ(got.with_deadline, 12);
    EXPECT_LT(got.cost, work / kHour * 3.0) << "seed " << seed;
  }
}

TEST(SpotMixPolicy, SurvivesDelayLossRefusalAndFailures) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed);
    std::vector<JobRow> rows;
    for (int i = 0; i < 20; ++i) {
      const Seconds duration = std::ceil(random.uniform(10, 300));
      rows.push_back(due(i * 10.0, static_cast<std::uint32_t>(1 + random.below(4)), duration,
                         random.chance(0.5) ? kNever : i * 10.0 + 3 * duration));
    }
    SimOptions options = testing_options();
    options.seed = seed;
    options.channel = {2, 0.1, 0.1, 0.1};
    options.faults.node_mtbf = 3000;
    options.faults.spot_mtbf = 500;
    options.faults.repair_mean = options.faults.spot_gone_mean = 200;
    const RunResult got = run_spot(mixed("4x4", 2), rows, "spot-mix", options);
    for (const JobRecord& record : got.records) EXPECT_LT(record.end, kNever);
  }
}

}  // namespace
}  // namespace weft
