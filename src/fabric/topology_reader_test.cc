// What users may write as a topology, and what they are told when it is wrong.
#include <gtest/gtest.h>

#include "fabric/builders/builders.h"
#include "fabric/fabric_testing.h"

namespace weft {
namespace {

struct Bad {
  const char* why;
  const char* spec;
  std::vector<std::string> says;
};

void expect_refused(const Result<Topology>& result, const std::vector<std::string>& says) {
  ASSERT_FALSE(result.ok());
  for (const std::string& part : says) {
    EXPECT_NE(result.error().text().find(part), std::string::npos) << part << " is not in\n"
                                                                   << result.error().text();
  }
}

TEST(TopologyShorthand, MistakesAreNamed) {
  const std::vector<Bad> table = {
      {"a builder nobody knows", "torsu:4x4", {"'torsu'", "did you mean 'torus'?"}},
      {"a file that is not there", "none.yaml", {"'none.yaml'", "builders"}},
      {"an unknown parameter", "clos:host=8", {"'host'", "did you mean 'hosts'?"}},
      {"bandwidth 0", "switch:bandwidth=0GB/s", {"'bandwidth'", "'0GB/s'", "above 0"}},
      {"negative bandwidth", "switch:bandwidth=-3GB/s", {"'-3GB/s'"}},
      {"bandwidth without a unit", "switch:bandwidth=12.5", {"'12.5'", "b: bit"}},
      {"negative latency", "switch:latency=-1us", {"'-1us'"}},
      {"a parameter twice", "switch:hosts=2,hosts=3", {"'hosts' is given twice"}},
      {"a word without a name", "clos:64", {"'64'", "NAME=VALUE"}},
      {"too many endpoints", "torus:1000x1000x10", {"10000000 endpoints", "1000000"}},
      {"too many cables", "clos:hosts=1000000,hosts_per_leaf=1,spines=60000", {"cables"}},
      {"no sides", "torus:x", {"'x'", "4x4"}},
      {"a side of 0", "torus:0x4", {"'0x4'"}},
      {"too many sides", "torus:2x2x2x2x2x2x2", {"1 to 6"}},
      {"one endpoint", "torus:1x1", {"at least 2"}},
      {"a cube too large", "hypercube:20", {"1 to 19"}},
      {"radix too small", "clos:hosts=1000,radix=8", {"ports", "radix is 8"}},
      {"a spine too small", "rail:nodes=64,radix=8", {"128 ports", "radix is 8"}},
      {"groups without links", "dragonfly:routers=2,global=1,groups=9", {"9 groups", "8 global"}},
      {"a degree too large", "topoopt:hosts=6,degree=3", {"'degree' is 3", "only 2"}},
      {"rails with no way across", "rail-only:nodes=2,nvlink=false", {"NVLink"}},
      {"a link that is none", "clos:hosts=8,radix=4,fail=host0/host1", {"fail=", "no link"}},
      {"a vertex that is none", "clos:hosts=8,radix=4,fail=leef0", {"'leef0'", "leaf0"}},
      {"a number too high", "clos:hosts=8,radix=4,fail=leaf9", {"'leaf9'", "leaf0 to leaf3"}},
      {"a factor too large", "torus:4x4,degrade=host0/host1:2", {"at most 1"}},
      {"a speed of nothing", "torus:4x4,speed=host0/host1:0GB/s", {"50GB/s"}},
      {"a host cut off", "switch:hosts=3,fail=host1", {"host0", "host1", "no path"}},
  };
  for (const Bad& row : table) {
    SCOPED_TRACE(row.why);
    expect_refused(read_topology(row.spec), row.says);
  }
}

TEST(TopologyShorthand, AllMistakesAreToldTogether) {
  expect_refused(read_topology("clos:hots=8,radix=x,bandwidth=0,latency=z,fail=/"),
                 {"'hots'", "'radix'", "'bandwidth'", "'latency'", "'fail'"});
}

TEST(TopologyShorthand, LinksMayFailSlowDownAndDiffer) {
  const Topology whole = must_read("clos:hosts=16,radix=8,bandwidth=10GB/s");
  const Topology changed = must_read(
      "clos:hosts=16,radix=8,bandwidth=10GB/s,degrade=leaf0/spine0:0.5,speed=leaf1/spine0:40GB/s");
  double sum = 0;
  for (const DirectedLink& link : changed.links) sum += link.bytes_per_s;
  EXPECT_DOUBLE_EQ(sum, 10e9 * static_cast<double>(whole.links.size()) - 2 * 5e9 + 2 * 30e9);
  const Topology failed = must_read("clos:hosts=16,radix=8,fail=leaf0/spine0,fail=leaf0/spine1");
  EXPECT_EQ(failed.links.size(), whole.links.size() - 4);
  EXPECT_EQ(whole.paths->count(0, 15), 4U);
  EXPECT_EQ(failed.paths->count(0, 15), 2U);
  EXPECT_EQ(failed.paths->count(4, 15), 4U);
}

TEST(TopologyShorthand, SizeNotStatedIsTheCallers) {
  const Result<Topology> topology = read_topology("switch:latency=5us,bandwidth=12.5GB/s", 1024);
  ASSERT_TRUE(topology.ok());
  EXPECT_EQ(topology->endpoints, 1024U);
}

TEST(TopologyShorthand, ShapesFollowFromRadixAndOversubscription) {
  const Topology clos = must_read("clos:hosts=1024,radix=32,oversubscription=4,bandwidth=100Gb/s");
  ASSERT_EQ(clos.facts.oversubscription.size(), 2U);
  EXPECT_DOUBLE_EQ(clos.facts.oversubscription[0].ratio, 4);
  EXPECT_DOUBLE_EQ(clos.facts.oversubscription[1].ratio, 1);
  EXPECT_EQ(split_ports(64, 1).up, 32U);
  EXPECT_EQ(split_ports(64, 3).down, 48U);
  EXPECT_EQ(split_ports(2, 1e6).up, 1U);
  EXPECT_EQ(split_ports(2, 1e-6).down, 1U);
  const Topology full = must_read("clos:hosts=16,radix=4");  // the k = 4 fat-tree of the paper
  EXPECT_EQ(full.vertices.size(), 16U + 8 + 8 + 4);
  EXPECT_EQ(full.paths->count(0, 15), 4U);
}

TEST(TopologyShorthand, BCubeAndDCellHaveTheSizesOfTheirPapers) {
  const Topology bcube = must_read("bcube:ports=4,levels=2");
  EXPECT_EQ(bcube.endpoints, 64U);                 // n^(k+1)
  EXPECT_EQ(bcube.vertices.size() - 64, 3U * 16);  // (k+1) n^k switches
  const Topology dcell = must_read("dcell:ports=4,levels=2");
  EXPECT_EQ(dcell.endpoints, 420U);  // t_2 for n = 4
}

TEST(TopologyShorthand, StridesArePrimeToTheNumberOfServers) {
  EXPECT_EQ(totient_strides(12, 4), (std::vector<std::uint32_t>{1, 5, 7, 11}));
  EXPECT_EQ(totient_strides(2, 1), (std::vector<std::uint32_t>{1}));
  EXPECT_EQ(totient_strides(12, 5).size(), 4U);
}

constexpr const char* kDgxLike = R"(vertices:
  - {name: gpu, count: 4}
  - {name: hub, kind: switch}
links:
  - {from: gpu*, to: hub, bandwidth: 100Gb/s, latency: 1us}
  - {from: gpu0, to: gpu1, bandwidth: 50GB/s, back: 25GB/s, price_per_gb: 0.5}
)";

TEST(TopologyFile, YamlListsVerticesAndLinks) {
  const Result<Topology> topology = parse_topology_file("net.yaml", kDgxLike);
  ASSERT_TRUE(topology.ok()) << topology.error().text();
  EXPECT_EQ(topology->endpoints, 4U);
  EXPECT_EQ(topology->links.size(), 10U);
  EXPECT_EQ(walk(*topology, 0, 1, 0).size(), 1U);
  EXPECT_EQ(walk(*topology, 2, 1, 0).size(), 2U);
  EXPECT_DOUBLE_EQ(topology->links[9].bytes_per_s, 25e9);
  EXPECT_DOUBLE_EQ(topology->links[8].price_per_byte, 0.5e-9);
}

TEST(TopologyFile, YamlMayNameABuilder) {
  const Result<Topology> topology = parse_topology_file(
      "net.yaml", "builder: clos\nhosts: 16\nradix: 8\nfail: [leaf0/spine0, leaf1/spine0]\n");
  ASSERT_TRUE(topology.ok()) << topology.error().text();
  EXPECT_EQ(topology->paths->count(0, 4), 3U);
  expect_refused(parse_topology_file("net.yaml", "builder: cloz\n"), {"'cloz'", "'clos'"});
  expect_refused(parse_topology_file("net.yaml", "builder: clos\nhosts: {a: 1}\n"), {"net.yaml:2"});
}

TEST(TopologyFile, CsvListsTheSame) {
  const char* text =
      "from,to,bandwidth,latency,kind,count\n"
      "# two racks\n"
      "host,,,,endpoint,4\nleft,,,,switch,\nright,,,,switch,\n"
      "host0,left,10GB/s,1us,,\nhost1,left,10GB/s,1us,,\n"
      "host2,right,10GB/s,1us,,\nhost3,right,10GB/s,1us,,\nleft,right,5GB/s,2us,,\n";
  const Result<Topology> topology = parse_topology_file("net.csv", text);
  ASSERT_TRUE(topology.ok()) << topology.error().text();
  EXPECT_EQ(walk(*topology, 0, 3, 0).size(), 3U);
  EXPECT_DOUBLE_EQ(topology->latency(walk(*topology, 0, 3, 0)), 4e-6);
}

TEST(TopologyFile, MistakesAreNamedWithTheirLines) {
  struct Row {
    const char* why;
    const char* text;
    std::vector<std::string> says;
  };
  const std::vector<Row> table = {
      {"an unknown vertex",
       "vertices: [{name: a}, {name: b}]\nlinks:\n  - {from: a, to: c, bandwidth: 1GB/s}\n",
       {"t.yaml:3", "'c'"}},
      {"bandwidth 0 and less",
       "vertices: [{name: a}, {name: b}]\nlinks:\n  - {from: a, to: b, bandwidth: 0GB/s}\n"
       "  - {from: a, to: b, bandwidth: -1GB/s}\n",
       {"t.yaml:3", "t.yaml:4", "'0GB/s'", "'-1GB/s'"}},
      {"nobody reaches c",
       "vertices: [{name: a}, {name: b}, {name: c}]\nlinks:\n  - {from: a, to: b, bandwidth: "
       "1GB/s}\n",
       {"from a to c", "no path"}},
      {"endpoints that do not pass traffic on",
       "vertices: [{name: a}, {name: b}, {name: c}]\nendpoints_forward: false\nlinks:\n"
       "  - {from: a, to: b, bandwidth: 1GB/s}\n  - {from: b, to: c, bandwidth: 1GB/s}\n",
       {"from a to c", "endpoints_forward"}},
      {"a vertex twice", "vertices: [{name: a}, {name: a}]\nlinks: []\n", {"'a' is listed twice"}},
      {"a loop",
       "vertices: [{name: a}, {name: b}]\nlinks:\n  - {from: a, to: a, bandwidth: 1GB/s}\n",
       {"joined to itself"}},
      {"too many endpoints",
       "vertices: [{name: a, count: 2000000}]\nlinks: []\n",
       {"2000000", "1000000"}},
      {"an unknown key", "vertices: [{nam: a}]\nlinks: []\n", {"nam", "name"}},
      {"no endpoint", "vertices: [{name: a, kind: switch}]\nlinks: []\n", {"0 endpoints"}},
      {"not a topology", "- 1\n- 2\n", {"t.yaml"}},
      {"nothing", "", {"t.yaml"}},
      {"a bad kind in CSV", "from,to,bandwidth,kind\na,,,endpiont\n", {"t.yaml:2", "'endpiont'"}},
      {"an unknown column", "from,to,bandwidth,kind,speed\na,,,endpoint,\n", {"speed"}},
  };
  for (const Row& row : table) {
    SCOPED_TRACE(row.why);
    expect_refused(parse_topology_file("t.yaml", row.text), row.says);
  }
}

}  // namespace
}  // namespace weft
