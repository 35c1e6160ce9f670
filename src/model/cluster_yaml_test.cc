#include "model/cluster_yaml.h"

#include "model/readers/reader_testing.h"

namespace weft {
namespace {

std::uint32_t domain(const Cluster& cluster, NodeId node, Level level) {
  return cluster.nodes[node].domain[static_cast<int>(level)];
}

const std::vector<std::string>& names(const Cluster& cluster, Level level) {
  return cluster.domain_names[static_cast<size_t>(level)];
}

TEST(ClusterYaml, ReadsEveryKey) {
  const Result<Cluster> read = read_cluster(fixture("clusters/full.yaml"));
  ASSERT_TRUE(read.ok()) << read.error().text();
  const Cluster& cluster = *read;
  EXPECT_EQ(cluster.text, "test park");
  ASSERT_EQ(cluster.nodes.size(), 8U);
  EXPECT_EQ(cluster.device_count(), 3 * 8 + 4 * 4 + 1U);
  const DeviceType& fast = cluster.types[0];
  EXPECT_EQ(fast.name, "fast");
  EXPECT_EQ(fast.memory, 80 * kGiB);
  EXPECT_EQ(fast.speed, 2);
  EXPECT_EQ(fast.idle_watts, 60);
  ASSERT_EQ(fast.power.size(), 2U);
  EXPECT_EQ(fast.power[0].watts, 200);
  EXPECT_EQ(fast.power[0].speed, 0.8);
  const Node& big = cluster.nodes[2];
  EXPECT_EQ(big.name, "big-2");
  EXPECT_EQ(big.node_class, NodeClass::kOnDemand);
  EXPECT_EQ(big.cpu_milli, 96000U);
  EXPECT_EQ(big.memory, 512 * kGiB);
  EXPECT_EQ(big.storage_bytes_per_s, 2e9);
  EXPECT_EQ(big.network_bytes_per_s, 5e10);
  EXPECT_EQ(cluster.nodes[3].node_class, NodeClass::kSpot);
  EXPECT_EQ(cluster.price_per_hour(3, 3599), 0.4);
  EXPECT_EQ(cluster.price_per_hour(3, 3600), 0.9);
  EXPECT_EQ(cluster.price_per_hour(7, 0), 2.5);
  EXPECT_EQ(cluster.nodes[7].price, big.price) << "equal prices are one";
  EXPECT_EQ(cluster.nodes[7].name, "lab");
  ASSERT_EQ(cluster.links.size(), 2U);
  EXPECT_EQ(cluster.links[0].bytes_per_s, 5e10);
  EXPECT_DOUBLE_EQ(cluster.links[0].latency, 2e-6);
}

TEST(ClusterYaml, CountsAndNamesDomains) {
  const Result<Cluster> read = read_cluster(fixture("clusters/full.yaml"));
  ASSERT_TRUE(read.ok()) << read.error().text();
  const std::uint32_t leaves[] = {0, 0, 1, 1, 2, 2, 3, 4}, racks[] = {0, 0, 0, 0, 1, 1, 1, 2};
  for (NodeId node = 0; node < 8; ++node) {
    EXPECT_EQ(domain(*read, node, Level::kNode), node);
    EXPECT_EQ(domain(*read, node, Level::kLeaf), leaves[node]) << node;
    EXPECT_EQ(domain(*read, node, Level::kRack), racks[node]) << node;
    EXPECT_EQ(domain(*read, node, Level::kPod), node == 7 ? 1U : 0U) << node;
  }
  EXPECT_EQ(names(*read, Level::kLeaf),
            (std::vector<std::string>{"leaf-0", "leaf-1", "leaf-2", "leaf-3", "bench"}));
  EXPECT_EQ(names(*read, Level::kPod), (std::vector<std::string>{"pod-0", "lab-pod"}));
}

TEST(ClusterYaml, LevelsNobodyNamedAreOneDomainEach) {
  const Result<Cluster> read = parse_cluster_yaml(
      {"c", "nodes:\n  - {devices: 1, rack: a}\n  - {devices: 1, rack: b}\n  - {devices: 1}\n"});
  ASSERT_TRUE(read.ok()) << read.error().text();
  EXPECT_EQ(domain(*read, 0, Level::kPod), domain(*read, 1, Level::kPod));
  EXPECT_NE(domain(*read, 0, Level::kRack), domain(*read, 1, Level::kRack));
  EXPECT_NE(domain(*read, 0, Level::kLeaf), domain(*read, 1, Level::kLeaf))
      << "one leaf would lie in two racks";
  EXPECT_NE(domain(*read, 2, Level::kRack), domain(*read, 0, Level::kRack));
}

TEST(ClusterYaml, WithoutDomainsEverythingIsTogether) {
  const Result<Cluster> read = parse_cluster_yaml({"c", "nodes: {count: 3, devices: 2}\n"});
  ASSERT_TRUE(read.ok()) << read.error().text();
  EXPECT_EQ(read->types[0].name, "gpu");
  EXPECT_EQ(domain(*read, 2, Level::kLeaf), 0U);
  EXPECT_TRUE(names(*read, Level::kLeaf).empty());
}

TEST(ClusterYaml, ComplainsWithLineValueAndLimit) {
  const std::string nodes = "nodes:\n  - {devices: 4}\n";
  const auto group = [](const std::string& more) {
    return "nodes:\n  - {devices: 4, " + more + "}\n";
  };
  const BadText bads[] = {
      {"no nodes", "name: x\n", "c:1: the cluster needs 'nodes'"},
      {"an empty list", "nodes: []\n", "the cluster needs a group of nodes"},
      {"unknown key", "nodez: []\n", "unknown key 'nodez'; did you mean 'nodes'?"},
      {"no devices", "nodes:\n  - {count: 3}\n", "c:2: nodes needs 'devices'"},
      {"too many in a node", "nodes:\n  - {devices: 65}\n",
       "c:2: nodes.devices is '65'; it must be a whole number from 1 to 64"},
      {"too many in all", "nodes:\n  - {devices: 64, count: 300000}\n",
       "c:2: the cluster has 19200000 devices up to here; the limit is 16000000"},
      {"negative count", group("count: -1"), "nodes.count is '-1'"},
      {"unknown class", group("class: free"),
       "nodes.class is 'free'; it must be on-demand or spot"},
      {"negative price", group("price: -1"), "nodes.price is '-1'"},
      {"prices out of order", group("price: [{at_s: 5, price: 1}]"),
       "the series must begin at 0 and ascend"},
      {"no prices", group("price: []"), "nodes.price is an empty series"},
      {"an unlisted type", "device_types: {a: {}}\nnodes:\n  - {devices: 1, type: b}\n",
       "c:3: nodes.type is 'b'; it must be one of device_types, a"},
      {"power that falls", "device_types: {a: {power: [{watts: 5}, {watts: 4}]}}\n" + nodes,
       "watts must ascend"},
      {"capped at the end", "device_types: {a: {power: [{watts: 5, speed: 0.5}]}}\n" + nodes,
       "the last point is the uncapped device"},
      {"speed zero", "device_types: {a: {speed: 0}}\n" + nodes, "device_types.a.speed is '0'"},
      {"a leaf in two racks",
       "nodes:\n  - {devices: 1, leaf: l, rack: a}\n  - {devices: 1, leaf: l, rack: b}\n",
       "c:3: 'l' lies in 'b' here and in 'a' above"},
      {"racks of no leaves", "domains: {leaves_per_rack: 2}\n" + nodes,
       "domains needs 'nodes_per_leaf'"},
      {"one name for two", "nodes:\n  - {devices: 1, name: a}\n  - {devices: 1, name: a}\n",
       "two nodes are named 'a'"},
      {"a link to nowhere", nodes + "links:\n  - {from: node-0, to: moon, gbit_s: 1}\n",
       "c:4: links: 'moon' is neither a node nor a leaf, rack or pod"},
      {"a link of nothing", nodes + "links:\n  - {from: node-0, to: node-0, gbit_s: 0}\n",
       "links.gbit_s is '0'"},
      {"not YAML", "nodes: {", "c:1: "},
      {"deep", std::string(100'000, '['), "brackets inside each other"},
  };
  for (const BadText& bad : bads) expect_complaint(bad, parse_cluster_yaml({"c", bad.text}));
}

}  // namespace
}  // namespace weft
