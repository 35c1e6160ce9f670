// Jobs that span nodes share the network.
#include <gtest/gtest.h>

#include "base/random.h"
#include "fabric/job_network.h"
#include "model/traffic.h"
#include "sim/sim_testing.h"

namespace weft {
namespace {

// A step of 3 s whose last two thirds can hide traffic.
void sends(Bytes bytes, Menu& menu) {
  Configuration& c = menu.configurations[0];
  c.seconds_per_step = 3;
  c.traffic = {Traffic::Pattern::kAllReduce, bytes, 1.0 / 3};
}
std::function<void(Submission&, Menu&, Truth&)> sender(Bytes bytes) {
  return [bytes](Submission&, Menu& menu, Truth&) { sends(bytes, menu); };
}

Result<RunResult> run_on(const std::string& cluster_text, const std::string& network,
                         const std::vector<JobRow>& rows, const std::string& policy_text) {
  Cluster cluster = testing_cluster(cluster_text);
  auto topology = read_topology(network, static_cast<std::uint32_t>(cluster.nodes.size()));
  CHECK_MSG(topology.ok(), "the topology of the test");
  adopt_leaves(*topology, cluster);
  const Trace trace = testing_trace(rows);
  const std::unique_ptr<Policy> policy = testing_policy(policy_text);
  SimRequest request;
  request.cluster = &cluster;
  request.trace = &trace;
  request.policy = policy.get();
  request.options = testing_options();
  request.network = std::make_shared<const Topology>(std::move(topology).value());
  return simulate(request);
}

std::vector<Seconds> ends_if_ok(const Result<RunResult>& result) {
  std::vector<Seconds> ends;
  CHECK(result.ok());
  for (const JobRecord& record : result->records) ends.push_back(record.end);
  return ends;
}

// Leaves of two nodes under one spine; ports of 10 bytes per second, the spine's as said.
std::string waist(int bytes_per_s) {
  return "clos:hosts_per_leaf=2,spines=1,bandwidth=10B/s,uplink_bandwidth=" +
         std::to_string(bytes_per_s) + "B/s";
}

TEST(NetworkRates, AJobAloneTakesItsTraceDuration) {
  // 40 bytes in each direction between 2 nodes need 4 s of a port of 10: it cannot hide, but that
  // is how it is on its own.
  const auto result = run_on("4x2", waist(10), {{0, 4, 100, 0, kNever, 0, -1, sender(40)}}, "fifo");
  EXPECT_DOUBLE_EQ(ends_if_ok(result)[0], 100);
  EXPECT_EQ(result->spanning_jobs, 1);
  EXPECT_EQ(result->contended_jobs, 0);
}

TEST(NetworkRates, JobsThatShareAWaistSlowEachOther) {
  // a on nodes 0, 1, 2 and b on nodes 3, 4, 5: the leaf of nodes 2 and 3 is in both rings.
  const std::vector<JobRow> rows = {{0, 3, 60, 0, kNever, 0, -1, sender(15)},
                                    {0, 3, 60, 0, kNever, 0, -1, sender(15)}};
  // Each sends 2(n-1)/n * 15 = 20 bytes per step and node, and needs 10 a second to hide it; the
  // links of the middle leaf (nodes 2 and 3) carry both: 5 each, so a step takes 1 + 4 s instead
  // of 3.
  const auto result = run_on("6x1", waist(10), rows, "fifo");
  EXPECT_DOUBLE_EQ(ends_if_ok(result)[0], 100);
  EXPECT_DOUBLE_EQ(ends_if_ok(result)[1], 100);
  EXPECT_EQ(result->contended_jobs, 2);
  EXPECT_GT(result->busiest_link_use, 0.5);
}

TEST(NetworkRates, TheOtherSpeedsUpWhenOneEnds) {
  const std::vector<JobRow> rows = {{0, 3, 30, 0, kNever, 0, -1, sender(15)},
                                    {0, 3, 60, 0, kNever, 0, -1, sender(15)}};
  // Both at 3/5 until 50, when a has done its 30; then b has 30 left at full speed.
  EXPECT_EQ(ends_if_ok(run_on("6x1", waist(10), rows, "fifo")), (std::vector<Seconds>{50, 80}));
}

TEST(NetworkRates, InfiniteBandwidthIsTheTable) {
  Random random(4);
  std::vector<JobRow> rows;
  Seconds at = 0;
  for (int i = 0; i < 20; ++i) {
    at += random.exponential(20);
    rows.push_back({at, static_cast<std::uint32_t>(1 + random.below(12)), random.uniform(10, 200),
                    0, kNever, 0, -1, sender(static_cast<Bytes>(1 + random.below(1000)))});
  }
  const Cluster cluster = testing_cluster("8x2");
  const auto table =
      run_trace(cluster, testing_trace(rows), *testing_policy("srtf"), testing_options());
  const auto wide =
      run_on("8x2", "clos:hosts_per_leaf=2,spines=1,bandwidth=1000TB/s", rows, "srtf");
  ASSERT_TRUE(table.ok() && wide.ok());
  EXPECT_GT(wide->spanning_jobs, 5);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_NEAR(wide->records[i].end, table->records[i].end, 1e-9 * table->records[i].end) << i;
  }
}

// Nodes 0-1, 2-3, 4-5 are leaves. b and c hold nodes 1 and 2. First fit puts d on 0 and 3 and makes
// it cross; a leaf of its own is free.
TEST(NetworkRates, PlacesKeepGangsOffTheSpine) {
  const std::vector<JobRow> rows = {{0, 1, 1, 0, kNever, 0, -1, sender(0)},
                                    {0, 1, 90, 0, kNever, 0, -1, sender(0)},
                                    {0, 1, 90, 0, kNever, 0, -1, sender(0)},
                                    {2, 2, 30, 0, kNever, 0, -1, sender(10)}};
  const std::string narrow = waist(1);
  const Seconds alone = 32;
  EXPECT_GT(ends_if_ok(run_on("6x1", narrow, rows, "fifo"))[3], alone);
  for (const char* place : {"rack", "network"}) {
    const std::string policy = std::string("name: p\nplace: ") + place + "\n";
    EXPECT_DOUBLE_EQ(ends_if_ok(run_on("6x1", narrow, rows, policy))[3], alone) << place;
  }
}

}  // namespace
}  // namespace weft
