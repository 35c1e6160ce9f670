#include "fabric/topology_summary.h"

#include <gtest/gtest.h>

#include "fabric/fabric_testing.h"

namespace weft {
namespace {

TEST(MaxFlow, IsWhatTheNarrowestCutLetsThrough) {
  const Topology clos = must_read("clos:hosts=8,hosts_per_leaf=4,spines=2,bandwidth=10GB/s");
  const auto first = [&](std::uint32_t count) {
    std::vector<bool> side(clos.endpoints, false);
    std::fill(side.begin(), side.begin() + count, true);
    return side;
  };
  EXPECT_DOUBLE_EQ(max_flow(clos, first(4)), 20e9);  // two uplinks of the left leaf
  EXPECT_DOUBLE_EQ(max_flow(clos, first(1)), 10e9);  // one host's link
  EXPECT_DOUBLE_EQ(max_flow(clos, first(7)), 10e9);
  EXPECT_DOUBLE_EQ(max_flow(clos, {true, false, true, false, true, false, true, false}), 40e9);
}

TEST(Bisection, FormulasAgreeWithMaxFlowOverEveryHalving) {
  for (const char* spec :
       {"switch:hosts=8", "clos:hosts=8,hosts_per_leaf=2,spines=2",
        "clos:hosts=8,hosts_per_leaf=2,spines=1", "clos:hosts=12,hosts_per_leaf=3,spines=5",
        "clos:hosts=12,hosts_per_leaf=3,spines=2,uplink_bandwidth=20GB/s", "clos:hosts=16,radix=4",
        "clos:hosts=8,hosts_per_leaf=1,spines=2,leaves_per_pod=2,cores=1",
        "clos:hosts=16,hosts_per_leaf=2,spines=2,leaves_per_pod=4,cores=1", "torus:4x4",
        "torus:8x2", "torus:4x2x2", "torus:6x2", "torus:4x3", "hypercube:3", "hypercube:4",
        "torus:12"}) {
    SCOPED_TRACE(spec);
    const Topology topology = must_read(spec);
    ASSERT_GT(topology.facts.bisection_bytes_per_s, 0);
    const Bisection exact = exhaustive_bisection(topology);
    EXPECT_NEAR(topology.facts.bisection_bytes_per_s / exact.bytes_per_s, 1, 1e-9);
  }
}

TEST(Bisection, NarrowHalvesAreFoundWhereNoFormulaIsKnown) {
  // 14 or 16 endpoints: too many for the default search over all, few enough for the test's.
  for (const char* spec :
       {"dragonfly:hosts=2,routers=2,global=1,groups=3,bandwidth=1GB/s",
        "wan:sites=2,hosts=7,bandwidth=1GB/s,wan_bandwidth=2GB/s", "bcube:ports=4,levels=1",
        "clos:hosts=14,hosts_per_leaf=2,spines=1", "hammingmesh:2x2,board=2x2"}) {
    SCOPED_TRACE(spec);
    const Topology topology = must_read(spec);
    const Bisection found = bisection(topology);
    const Bisection exact = exhaustive_bisection(topology);
    EXPECT_FALSE(found.exact && topology.endpoints > 12);
    EXPECT_NEAR(found.bytes_per_s / exact.bytes_per_s, 1, 1e-9);
  }
}

TEST(Bisection, AFormulaIsNotUsedWhenLinksAreNotAsBuilt) {
  const Topology slow = must_read("torus:4x2,bandwidth=1GB/s,degrade=host0/host4:0.5");
  EXPECT_DOUBLE_EQ(bisection(slow).bytes_per_s, 3.5e9);
  EXPECT_DOUBLE_EQ(bisection(must_read("torus:4x2,bandwidth=1GB/s")).bytes_per_s, 4e9);
}

TEST(TopologySummary, CountsAndMeansOfAKnownNetwork) {
  const TopologySummary torus = summarize_topology(must_read("torus:4x4,latency=1us"));
  EXPECT_EQ(torus.longest_links, 4U);
  EXPECT_NEAR(torus.mean_links, 2.0 * 16 / 15, 1e-12);  // each ring of 4: mean 1, itself included
  EXPECT_TRUE(torus.all_pairs);
  EXPECT_EQ(torus.speeds.size(), 1U);
  EXPECT_EQ(torus.speeds[0].links, 64U);
  const TopologySummary node = summarize_topology(must_read("h100"));
  EXPECT_EQ(node.endpoints, 8U);
  EXPECT_EQ(node.nics, 8U);
  EXPECT_EQ(node.switches, 1U);
  EXPECT_EQ(node.bridges, 10U);
  const TopologySummary wan =
      summarize_topology(must_read("wan:sites=2,hosts=1,price_per_gb=0.05,delay=10ms,latency=0"));
  EXPECT_DOUBLE_EQ(wan.mean_price_per_gb, 0.05);
  EXPECT_DOUBLE_EQ(wan.longest_latency, 10e-3);
}

TEST(TopologySummary, SamplesLargeNetworks) {
  const TopologySummary summary = summarize_topology(must_read("torus:16x16x16"));
  EXPECT_FALSE(summary.all_pairs);
  EXPECT_NEAR(summary.mean_links, 12, 0.2);
  EXPECT_LE(summary.longest_links, 24U);
}

}  // namespace
}  // namespace weft
