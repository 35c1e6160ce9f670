// Every path of every builder: begins, ends, hangs together, is as short as claimed, and is
// counted.
#include <gtest/gtest.h>

#include "fabric/fabric_testing.h"
#include "fabric/paths/graph_paths.h"

namespace weft {
namespace {

enum class Length { kShortest, kOther };

struct PathCase {
  const char* spec;
  std::uint32_t endpoints;
  bool forward = false;  // endpoints pass traffic on
  Length length = Length::kShortest;
};

const std::vector<PathCase>& cases() {
  static const std::vector<PathCase> kCases = {
      {"switch:hosts=2", 2},
      {"switch:hosts=9", 9},
      {"clos:hosts=16,radix=8", 16},
      {"clos:hosts=17,hosts_per_leaf=4,spines=3", 17},
      {"clos:hosts=54,radix=6", 54},
      {"clos:hosts=30,hosts_per_leaf=3,spines=2,leaves_per_pod=4,cores=3", 30},
      {"clos:hosts=1024,radix=32,oversubscription=4", 1024},
      {"torus:4x4", 16, true},
      {"torus:5x3x2", 30, true},
      {"torus:1x6", 6, true},
      {"torus:2x2x2x2", 16, true},
      {"torus:7", 7, true},
      {"torus:16x16x16", 4096, true},
      {"hypercube:5", 32, true},
      {"hypercube:10", 1024, true},
      {"hammingmesh:3x2,board=2x2", 24, true},
      {"hammingmesh:1x4,board=3x1", 12, true},
      {"hammingmesh:2x2,board=5x4", 80, true},
      {"hammingmesh:4x4,board=1x1", 16, true},
      {"dragonfly:hosts=2", 72, false, Length::kOther},
      {"dragonfly:hosts=1,routers=3,global=2,groups=4", 12, false, Length::kOther},
      {"dragonfly+:hosts=2,groups=3", 12, false, Length::kOther},
      {"dragonfly:hosts=2,routing=valiant", 72, false, Length::kOther},
      {"dragonfly:hosts=1,routers=2,global=1,groups=2,routing=valiant", 4, false, Length::kOther},
      {"dragonfly+:hosts=2,groups=5,routing=valiant", 20, false, Length::kOther},
      {"bcube:ports=4,levels=1", 16, true},
      {"bcube:ports=2,levels=3", 16, true},
      {"dcell:ports=3,levels=1", 12, true},
      {"dcell:ports=2,levels=2", 42, true},
      {"topoopt:hosts=12,degree=3", 12, true},
      {"topoopt:hosts=17,degree=1", 17, true},
      {"wan:sites=3,hosts=4", 12},
      {"h100", 8},
      {"a100:nodes=1,nvlink=false", 8},
      {"h100:nodes=4,network=clos,radix=8", 32},
      {"a100:nodes=5,nics=2,nvlink=false,network=clos,nics_per_leaf=3,spines=2", 40, false,
       Length::kOther},
      {"rail:nodes=6,cross_rail=spine,nics_per_leaf=4", 48},
      {"rail:nodes=6,nics_per_leaf=4,spines=3", 48, true, Length::kOther},
      {"rail-only:nodes=4", 32, true, Length::kOther},
      {"rail-only:nodes=9,rails=4,nics_per_leaf=4,spines=2,node=b200", 72, true, Length::kOther},
      {"torus:4x4,fail=host0/host1", 16, true},
      {"clos:hosts=16,radix=8,fail=spine1", 16},
      {"rail:nodes=4,nics_per_leaf=4,fail=nic0", 32, true, Length::kOther},
  };
  return kCases;
}

// All pairs of a small topology, a seeded sample of a large one.
std::vector<std::pair<VertexId, VertexId>> pairs_of(const Topology& topology) {
  std::vector<std::pair<VertexId, VertexId>> pairs;
  const std::uint32_t n = topology.endpoints;
  if (n <= 40) {
    for (VertexId a = 0; a < n; ++a) {
      for (VertexId b = 0; b < n; ++b) {
        if (a != b) pairs.emplace_back(a, b);
      }
    }
    return pairs;
  }
  Random random(7);
  for (int i = 0; i < 300; ++i) {
    const auto a =
        static_cast<VertexId>(random.below(n) / 8 * 8 % n);  // few sources: one search each
    const auto b = static_cast<VertexId>(random.below(n));
    if (a != b) pairs.emplace_back(a, b);
  }
  std::sort(pairs.begin(), pairs.end());
  return pairs;
}

TEST(Paths, LeadFromEndToEndAsShortAsClaimed) {
  for (const PathCase& row : cases()) {
    SCOPED_TRACE(row.spec);
    const Topology topology = must_read(row.spec);
    ASSERT_EQ(topology.endpoints, row.endpoints);
    ASSERT_EQ(topology.names.size(), topology.vertices.size());
    VertexId searched = kNoVertex;
    std::vector<int> hops;
    for (const auto& [a, b] : pairs_of(topology)) {
      if (searched != a) hops = hops_from(topology, a, row.forward);
      searched = a;
      const std::uint32_t count = topology.paths->count(a, b);
      ASSERT_GE(count, 1U) << a << " to " << b;
      std::set<std::vector<LinkId>> distinct;
      const std::uint32_t step = std::max(1U, count / 50);
      std::uint32_t walked = 0;
      for (std::uint32_t k = 0; k < count; k += step, ++walked) {
        const std::vector<LinkId> path = walk(topology, a, b, k);
        distinct.insert(path);
        const std::size_t shortest = static_cast<std::size_t>(hops[b]);
        const bool claimed = row.length == Length::kShortest;
        ASSERT_TRUE(!claimed || path.size() == shortest)
            << a << " to " << b << " in " << path.size() << " links, not " << shortest;
      }
      ASSERT_EQ(distinct.size(), walked) << "a path is listed twice between " << a << " and " << b;
    }
  }
}

TEST(Paths, GraphSearchFindsExactlyTheStructuralPathsOfAClos) {
  for (const char* spec : {"clos:hosts=16,radix=8", "clos:hosts=54,radix=6", "switch:hosts=5",
                           "clos:hosts=30,hosts_per_leaf=3,spines=2,leaves_per_pod=4,cores=3"}) {
    SCOPED_TRACE(spec);
    const Topology structural = must_read(spec);
    Topology searched = structural;
    searched.paths = make_graph_paths(searched, {}, false);
    for (const auto& [a, b] : pairs_of(structural)) {
      ASSERT_EQ(structural.paths->count(a, b), searched.paths->count(a, b)) << a << " " << b;
      std::set<std::vector<LinkId>> one, other;
      for (std::uint32_t k = 0; k < structural.paths->count(a, b); ++k) {
        one.insert(walk(structural, a, b, k));
        other.insert(walk(searched, a, b, k));
      }
      ASSERT_EQ(one, other) << a << " " << b;
    }
  }
}

TEST(Paths, TorusCountsOrdersAndTies) {
  const Topology torus = must_read("torus:4x4x4");
  EXPECT_EQ(torus.paths->count(0, 1), 1U);           // one step
  EXPECT_EQ(torus.paths->count(0, 2), 2U);           // half around: both ways
  EXPECT_EQ(torus.paths->count(0, 5), 2U);           // two dimensions: two orders
  EXPECT_EQ(torus.paths->count(0, 1 + 4 + 16), 6U);  // three: 3!
  EXPECT_EQ(torus.paths->count(0, 2 + 8 + 32), 6U * 8U);
  const Topology cube = must_read("hypercube:10");
  EXPECT_EQ(cube.paths->count(0, 1023), 40320U);  // of ten dimensions eight change places
}

TEST(Paths, SwitchLatencyIsPaidOnceAMessage) {
  const Topology topology = must_read("switch:hosts=4,latency=5us,bandwidth=12.5GB/s");
  EXPECT_DOUBLE_EQ(topology.latency(walk(topology, 0, 3, 0)), 5e-6);
  EXPECT_DOUBLE_EQ(topology.links[0].bytes_per_s, 12.5e9);
  const Topology slow = must_read("switch:hosts=4,latency=5us,overhead=2us");
  EXPECT_DOUBLE_EQ(slow.latency(walk(slow, 0, 3, 0)), 7e-6);
  const Topology clos = must_read("clos:hosts=16,radix=8,latency=1us");
  EXPECT_DOUBLE_EQ(clos.latency(walk(clos, 0, 15, 0)), 4e-6);
}

TEST(Paths, RailsAreReachedOverNvlink) {
  const Topology topology = must_read("rail:nodes=4");
  const auto names = [&](VertexId a, VertexId b) {
    std::string text;
    for (const LinkId link : walk(topology, a, b, 0)) {
      text += topology.names.of(topology.links[link].to) + " ";
    }
    return text;
  };
  EXPECT_EQ(names(0, 1), "nvswitch0 gpu1 ");
  EXPECT_EQ(names(0, 8), "pcie0 nic0 leaf0 nic8 pcie8 gpu8 ");
  EXPECT_EQ(names(0, 9), "nvswitch0 gpu1 pcie1 nic1 leaf1 nic9 pcie9 gpu9 ");
}

TEST(Paths, ALostNicIsReachedAroundThroughANeighbour) {
  const Topology topology = must_read("rail:nodes=4,fail=nic0/leaf0");
  const std::vector<LinkId> path = walk(topology, 0, 8, 0);
  EXPECT_EQ(topology.names.of(topology.links[path[0]].to), "nvswitch0");
  for (const LinkId link : path) EXPECT_NE(topology.names.of(topology.links[link].to), "cpu0");
}

TEST(Paths, DragonflyCrossesOneGlobalLinkAtMost) {
  const Topology topology = must_read("dragonfly:hosts=2");
  const auto& group = topology.facts.group_of;
  for (const auto& [a, b] : pairs_of(topology)) {
    for (std::uint32_t k = 0; k < topology.paths->count(a, b); ++k) {
      int crossed = 0;
      for (const LinkId link : walk(topology, a, b, k)) {
        crossed += group[topology.links[link].from] != group[topology.links[link].to] ? 1 : 0;
      }
      EXPECT_EQ(crossed, group[a] == group[b] ? 0 : 1);
    }
  }
}

TEST(Paths, ValiantPathsCrossEveryThirdGroupOnce) {
  const Topology topology = must_read("dragonfly:hosts=2,routing=valiant");
  const auto& group = topology.facts.group_of;
  for (const auto& [a, b] : pairs_of(topology)) {
    std::set<int> thirds;
    const std::uint32_t count = topology.paths->count(a, b);
    for (std::uint32_t k = 0; k < count; ++k) {
      std::set<int> passed;
      for (const LinkId link : walk(topology, a, b, k)) {
        passed.insert(group[topology.links[link].to]);
      }
      passed.erase(group[a]);
      passed.erase(group[b]);
      ASSERT_EQ(passed.size(), 1U);
      thirds.insert(*passed.begin());
    }
    ASSERT_EQ(thirds.size(), count);
    ASSERT_EQ(count, group[a] == group[b] ? 8U : 7U);
  }
}

TEST(Paths, AHundredThousandEndpointsAreCheap) {
  for (const char* spec : {"switch:hosts=100000", "clos:hosts=100000,radix=128", "rail:nodes=12500",
                           "torus:48x48x48"}) {
    SCOPED_TRACE(spec);
    const Topology topology = must_read(spec);
    EXPECT_GE(topology.endpoints, 100000U);
    Random random(3);
    std::vector<LinkId> path;
    for (int i = 0; i < 20000; ++i) {
      const auto a = static_cast<VertexId>(random.below(topology.endpoints));
      const auto b = static_cast<VertexId>(random.below(topology.endpoints));
      if (a == b) continue;
      path.clear();
      const std::uint32_t count = topology.paths->count(a, b);
      topology.paths->path(a, b, static_cast<std::uint32_t>(random.below(count)), path);
      ASSERT_EQ(topology.links[path.front()].from, a);
      ASSERT_EQ(topology.links[path.back()].to, b);
    }
  }
}

}  // namespace
}  // namespace weft
