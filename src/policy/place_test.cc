#include "policy/place.h"

#include <gtest/gtest.h>

#include "policy/policy_testing.h"

namespace weft {
namespace {

Configuration gang(std::uint32_t devices) {
  Configuration c;
  c.devices = devices;
  return c;
}

struct PlaceRow {
  const char* sentence;
  const char* cluster;
  std::vector<DeviceId> busy;
  NodeOrder order;
  std::uint32_t devices;
  std::vector<DeviceId> want;  // empty: does not fit
};

TEST(PackedPlace, Rules) {
  // Nodes of 4: devices 0-3, 4-7, 8-11.
  const std::vector<PlaceRow> table = {
      {"first fit takes the lowest node with room", "3x4", {0, 4, 5}, NodeOrder::kFirst, 2, {1, 2}},
      {"best fit takes the fullest node with room", "3x4", {0, 4, 5}, NodeOrder::kBest, 2, {6, 7}},
      {"worst fit takes the emptiest", "3x4", {0, 4, 5}, NodeOrder::kWorst, 2, {8, 9}},
      {"best fit ties go to the lower node", "3x4", {4, 8}, NodeOrder::kBest, 3, {5, 6, 7}},
      {"worst fit ties go to the lower node", "3x4", {0}, NodeOrder::kWorst, 1, {4}},
      {"best fit passes a node that is too full", "3x4", {0, 1, 2, 4}, NodeOrder::kBest, 2, {5, 6}},
      {"a gang of whole nodes takes entirely free ones, lowest first",
       "3x4",
       {0},
       NodeOrder::kBest,
       8,
       {4, 5, 6, 7, 8, 9, 10, 11}},
      {"the remainder goes where the order says",
       "3x4",
       {8, 9},
       NodeOrder::kBest,
       6,
       {0, 1, 2, 3, 10, 11}},
      {"first fit puts the remainder on the lowest node left",
       "3x4",
       {8, 9},
       NodeOrder::kFirst,
       6,
       {0, 1, 2, 3, 4, 5}},
      {"first fit may put it before the whole node",
       "3x4",
       {0},
       NodeOrder::kFirst,
       6,
       {1, 2, 4, 5, 6, 7}},
      {"worst fit takes another free node for it",
       "3x4",
       {0},
       NodeOrder::kWorst,
       6,
       {4, 5, 6, 7, 8, 9}},
      {"whole nodes must be entirely free", "3x4", {0, 4, 8}, NodeOrder::kBest, 4, {}},
      {"the remainder must fit one node", "2x4", {4, 5}, NodeOrder::kBest, 7, {}},
      {"more than there is", "2x4", {}, NodeOrder::kFirst, 9, {}},
      {"holes inside a node are used", "1x4", {1}, NodeOrder::kFirst, 3, {0, 2, 3}},
  };
  for (const PlaceRow& row : table) {
    SCOPED_TRACE(row.sentence);
    const Cluster cluster = small_cluster(row.cluster);
    State state(cluster);
    occupy(state, row.busy);
    Allocation out;
    const bool fits = PackedPlace(row.order).place(state, small_job(gang(row.devices)), 0, 1, out);
    EXPECT_EQ(fits, !row.want.empty());
    if (fits) {
      EXPECT_EQ(devices_of(out), row.want);
    }
  }
}

TEST(PackedPlace, ScatterTakesTheEmptiestNodesWhenNothingElseFits) {
  const Cluster cluster = small_cluster("3x4");
  State state(cluster);
  occupy(state, {0, 4, 5, 8});
  Allocation out;
  const JobState wide = small_job(gang(7));
  EXPECT_FALSE(PackedPlace(NodeOrder::kBest).place(state, wide, 0, 1, out));
  ASSERT_TRUE(PackedPlace(NodeOrder::kBest, true).place(state, wide, 0, 1, out));
  EXPECT_EQ(devices_of(out), (std::vector<DeviceId>{1, 2, 3, 6, 9, 10, 11}));
  ASSERT_TRUE(PackedPlace(NodeOrder::kBest, true).place(state, small_job(gang(2)), 0, 1, out));
  EXPECT_EQ(devices_of(out), (std::vector<DeviceId>{6, 7})) << "packed where that is possible";
}

TEST(PackedPlace, PackLevels) {
  const Cluster shape = small_cluster("4x2");
  Cluster cluster = shape;
  for (NodeId n = 0; n < 4; ++n) cluster.nodes[n].domain[static_cast<int>(Level::kRack)] = n / 2;
  State state(cluster);
  occupy(state, {0});
  Allocation out;
  Configuration c = gang(4);
  c.pack = Level::kRack;
  ASSERT_TRUE(PackedPlace(NodeOrder::kBest).place(state, small_job(c), 0, 1, out));
  EXPECT_EQ(devices_of(out), (std::vector<DeviceId>{4, 5, 6, 7})) << "rack 0 has only three";
  c.devices = 5;
  EXPECT_FALSE(PackedPlace(NodeOrder::kBest, true).place(state, small_job(c), 0, 1, out));
  c.pack_required = false;
  EXPECT_TRUE(PackedPlace(NodeOrder::kBest, true).place(state, small_job(c), 0, 1, out));
  c.devices = 3;
  c.pack = Level::kNode;
  c.pack_required = true;
  EXPECT_FALSE(PackedPlace(NodeOrder::kBest, true).place(state, small_job(c), 0, 1, out));
}

TEST(PackedPlace, DeviceTypes) {
  const Cluster cluster = small_cluster("slow:1x4,fast:1x4");
  State state(cluster);
  Allocation out;
  Configuration c = gang(2);
  c.type = 1;
  ASSERT_TRUE(PackedPlace(NodeOrder::kFirst).place(state, small_job(c), 0, 1, out));
  EXPECT_EQ(devices_of(out), (std::vector<DeviceId>{4, 5}));
  c.type = kAnyType;
  c.devices = 5;
  EXPECT_FALSE(PackedPlace(NodeOrder::kFirst, true).place(state, small_job(c), 0, 1, out))
      << "a gang does not mix types";
}

TEST(PackedPlace, HostLimits) {
  Cluster cluster = small_cluster("2x4");
  cluster.nodes[0].cpu_milli = 5000;
  cluster.nodes[1].cpu_milli = 16000;
  cluster.nodes[1].memory = 64 * kGiB;
  State state(cluster);
  Allocation out;
  Configuration c = gang(2);
  c.cpu_milli = 3000;
  ASSERT_TRUE(PackedPlace(NodeOrder::kFirst).place(state, small_job(c), 0, 1, out));
  EXPECT_EQ(devices_of(out), (std::vector<DeviceId>{4, 5})) << "two need 6 processors";
  ASSERT_EQ(out.hosts.size(), 1u);
  EXPECT_EQ(out.hosts[0].node, 1u);
  EXPECT_EQ(out.hosts[0].cpu_milli, 6000u);
  state.ledger.take(1, out);
  c.host_memory = 40 * kGiB;
  EXPECT_FALSE(PackedPlace(NodeOrder::kFirst).place(state, small_job(c), 0, 1, out));
  c.host_memory = 32 * kGiB;
  EXPECT_TRUE(PackedPlace(NodeOrder::kFirst).place(state, small_job(c), 0, 1, out));
}

TEST(PackedPlace, ReplicasTogetherStayWithinTheHostLimits) {
  Cluster cluster = small_cluster("2x4");
  cluster.nodes[0].cpu_milli = cluster.nodes[1].cpu_milli = 4000;
  const State state(cluster);
  Configuration c = gang(1);
  c.cpu_milli = 3000;
  Allocation out;
  ASSERT_TRUE(PackedPlace(NodeOrder::kFirst).place(state, small_job(c), 0, 2, out));
  EXPECT_EQ(devices_of(out), (std::vector<DeviceId>{0, 4}));
  EXPECT_FALSE(PackedPlace(NodeOrder::kFirst).place(state, small_job(c), 0, 3, out));
}

TEST(PackedPlace, SpotNodesAreForThoseWhoMay) {
  Cluster cluster = small_cluster("2x2");
  cluster.nodes[0].node_class = NodeClass::kSpot;
  const State state(cluster);
  JobState job = small_job(gang(2));
  Allocation out;
  ASSERT_TRUE(PackedPlace(NodeOrder::kFirst).place(state, job, 0, 1, out));
  EXPECT_EQ(devices_of(out), (std::vector<DeviceId>{0, 1}));
  auto firm = std::make_shared<Submission>(*job.spec);
  firm->spot_ok = false;
  job.spec = firm;
  ASSERT_TRUE(PackedPlace(NodeOrder::kFirst).place(state, job, 0, 1, out));
  EXPECT_EQ(devices_of(out), (std::vector<DeviceId>{2, 3}));
  EXPECT_FALSE(PackedPlace(NodeOrder::kFirst, true).place(state, small_job(gang(4)), 0, 2, out));
}

TEST(PackedPlace, FractionsFillTheFullestDeviceWithRoom) {
  Cluster cluster = small_cluster("1x3");
  cluster.types[0].memory = 16 * kGiB;
  State state(cluster);
  Allocation held;
  held.devices = {{1, 500, 0, 10 * kGiB}};
  state.ledger.take(1, held);
  occupy(state, {0}, 2);
  Configuration c = gang(1);
  c.milli = 250;
  c.device_memory = 4 * kGiB;
  Allocation out;
  ASSERT_TRUE(PackedPlace(NodeOrder::kBest).place(state, small_job(c), 0, 1, out));
  EXPECT_EQ(devices_of(out), std::vector<DeviceId>{1});
  EXPECT_EQ(out.devices[0].milli, 250);
  c.device_memory = 8 * kGiB;
  ASSERT_TRUE(PackedPlace(NodeOrder::kBest).place(state, small_job(c), 0, 1, out));
  EXPECT_EQ(devices_of(out), std::vector<DeviceId>{2}) << "memory must fit";
  c.devices = 3;
  EXPECT_FALSE(PackedPlace(NodeOrder::kBest).place(state, small_job(c), 0, 1, out));
}

TEST(PackedPlace, WholeDevicesMustHaveTheMemoryAskedFor) {
  Cluster cluster = small_cluster("small:1x2,large:1x2");
  cluster.types[0].memory = 16 * kGiB;
  cluster.types[1].memory = 40 * kGiB;
  const State state(cluster);
  Configuration c = gang(2);
  c.device_memory = 32 * kGiB;
  Allocation out;
  ASSERT_TRUE(PackedPlace(NodeOrder::kFirst).place(state, small_job(c), 0, 1, out));
  EXPECT_EQ(devices_of(out), (std::vector<DeviceId>{2, 3}));
  c.device_memory = 48 * kGiB;
  EXPECT_FALSE(PackedPlace(NodeOrder::kFirst).place(state, small_job(c), 0, 1, out));
}

TEST(PackedPlace, NodesOutOfServiceAreNotUsed) {
  const Cluster cluster = small_cluster("2x2");
  State state(cluster);
  state.ledger.set_available(0, false);
  Allocation out;
  ASSERT_TRUE(PackedPlace(NodeOrder::kFirst).place(state, small_job(gang(1)), 0, 1, out));
  EXPECT_EQ(devices_of(out), std::vector<DeviceId>{2});
  EXPECT_FALSE(PackedPlace(NodeOrder::kFirst, true).place(state, small_job(gang(3)), 0, 1, out));
}

TEST(PackedPlace, AServiceThatMayHaveNoReplicaGetsOne) {
  const Cluster cluster = small_cluster("1x2");
  const State state(cluster);
  Allocation out;
  ASSERT_TRUE(PackedPlace(NodeOrder::kFirst).place(state, small_job(gang(1)), 0, 0, out));
  EXPECT_EQ(out.replicas, 1u);
  EXPECT_EQ(devices_of(out), std::vector<DeviceId>{0});
}

}  // namespace
}  // namespace weft
