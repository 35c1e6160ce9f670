#include "fabric/job_network.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

// Two leaves with two nodes each, joined by one cable of `waist` bytes per second; links: up 0-3,
// down 4-7, 8 left to right, 9 right to left.
class Dumbbell : public Paths {
 public:
  std::uint32_t count(VertexId, VertexId) const override { return 1; }
  void path(VertexId a, VertexId b, std::uint32_t, std::vector<LinkId>& out) const override {
    out.push_back(a);
    if (a / 2 != b / 2) out.push_back(a < 2 ? 8 : 9);
    out.push_back(4 + b);
  }
};

Topology dumbbell(double port, double waist) {
  Topology topology;
  topology.endpoints = 4;
  topology.vertices.resize(6);
  for (VertexId v = 0; v < 4; ++v) topology.links.push_back({v, 4 + v / 2, port, 0, 0});
  for (VertexId v = 0; v < 4; ++v) topology.links.push_back({4 + v / 2, v, port, 0, 0});
  topology.links.push_back({4, 5, waist, 0, 0});
  topology.links.push_back({5, 4, waist, 0, 0});
  topology.paths = std::make_shared<Dumbbell>();
  return topology;
}

// A step of 3 s of which the last 2 can hide traffic; 10 bytes on two nodes are 10 out of each.
Configuration job_of(Bytes bytes) {
  Configuration c;
  c.seconds_per_step = 3;
  c.traffic = {Traffic::Pattern::kAllReduce, bytes, 1.0 / 3};
  return c;
}

using Nodes = std::vector<NodeId>;

TEST(JobNetwork, JobsThatCanHideTheirTrafficDoNotDisturbEachOther) {
  const Topology topology = dumbbell(10, 10);
  JobNetwork network(topology);
  network.set(0, job_of(10), Nodes{0, 2}, 0);  // needs 5 of the waist, each way
  network.set(1, job_of(10), Nodes{1, 3}, 0);
  EXPECT_TRUE(network.settle(0).empty());
  EXPECT_EQ(network.slowdown(0), 1);
  EXPECT_NEAR(network.load(8), 10, 1e-12);
  network.remove(0, 30);
  network.remove(1, 30);
  EXPECT_NEAR(network.carried(8), 2 * 10 * 10, 1e-9);  // 10 steps of 10 bytes from each job
}

TEST(JobNetwork, SlowsJobsThatShareAWaistAndFreesThem) {
  const Topology topology = dumbbell(10, 5);
  JobNetwork network(topology);
  network.set(0, job_of(10), Nodes{0, 2}, 0);
  network.settle(0);
  EXPECT_EQ(network.slowdown(0), 1);  // 5 bytes per second hide 10 bytes in 2 s
  EXPECT_NEAR(network.probe(1, job_of(10), Nodes{1, 3}), (1 + 4) / 3.0, 1e-12);
  EXPECT_EQ(network.probe(1, job_of(10), Nodes{0, 1}), 1);
  network.set(1, job_of(10), Nodes{1, 3}, 1);
  EXPECT_EQ(network.settle(1), (std::vector<JobId>{0, 1}));
  EXPECT_NEAR(network.slowdown(0), 5 / 3.0, 1e-12);  // 2.5 each: 4 s instead of 2
  network.remove(1, 2);
  EXPECT_EQ(network.settle(2), (std::vector<JobId>{0, 1}));
  EXPECT_EQ(network.slowdown(0), 1);
  EXPECT_EQ(network.slowdown(1), 1);
}

TEST(JobNetwork, AloneOnItsPlacementAJobTakesWhatItTakes) {
  const Topology topology = dumbbell(1, 100);  // too slow to hide anything, alone or not
  JobNetwork network(topology);
  network.set(0, job_of(10), Nodes{0, 1, 2, 3}, 0);
  network.settle(0);
  EXPECT_EQ(network.slowdown(0), 1);
}

// Two jobs that each want 5 of a waist of 5.
TEST(JobNetwork, GivesGuaranteesAndKeepsLimits) {
  const Topology topology = dumbbell(10, 5);
  JobNetwork network(topology, BandwidthSharing::kGuarantees);
  Configuration promised = job_of(10), limited = job_of(10);
  promised.devices = limited.devices = 2;
  promised.network_guarantee = 4;  // of each device; one device on either node
  limited.network_limit = 0.5;
  network.set(0, promised, Nodes{0, 2}, 0);
  network.set(1, job_of(10), Nodes{1, 3}, 0);
  network.settle(0);
  EXPECT_EQ(network.slowdown(0), 1);  // gets 5: what is left goes to the guaranteed first
  EXPECT_EQ(network.slowdown(1), kNever);
  network.set(0, limited, Nodes{0, 2}, 1);
  network.settle(1);
  EXPECT_NEAR(network.slowdown(0), (1 + 10 / 0.5) / 3, 1e-12);
  EXPECT_NEAR(network.slowdown(1), (1 + 10 / 4.5) / 3, 1e-12);
}

TEST(JobNetwork, ServesIntenseJobsFirst) {
  const Topology topology = dumbbell(10, 5);
  JobNetwork network(topology, BandwidthSharing::kIntensity);
  Configuration intense = job_of(8), chatty = job_of(10);
  network.set(0, chatty, Nodes{0, 2}, 0);
  network.set(1, intense, Nodes{1, 3}, 0);
  network.settle(0);
  EXPECT_EQ(network.slowdown(1), 1);                  // needs 4
  EXPECT_NEAR(network.slowdown(0), 11 / 3.0, 1e-12);  // 1 is left: 10 s instead of 2
  network.remove(1, 1);
  network.settle(1);
  EXPECT_EQ(network.slowdown(0), 1);
}

TEST(JobNetwork, SaysWhatEachPatternSends) {
  Configuration c = job_of(12);
  EXPECT_FALSE(demand_of(c, 1).any());
  EXPECT_EQ(demand_of(c, 4).bytes, 18);
  c.traffic.pattern = Traffic::Pattern::kAllToAll;
  EXPECT_EQ(demand_of(c, 4).bytes, 9);
  c.traffic.pattern = Traffic::Pattern::kPipeline;
  EXPECT_EQ(demand_of(c, 4).bytes, 12);
  c.traffic.pattern = Traffic::Pattern::kNone;
  EXPECT_FALSE(demand_of(c, 4).any());
}

}  // namespace
}  // namespace weft
