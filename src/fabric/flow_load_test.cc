#include "fabric/flow_load.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "fabric/fabric_testing.h"
#include "fabric/max_min_testing.h"

namespace weft {
namespace {

TEST(FlowLoad, NetworkIsASquareClosWithFullLinks) {
  struct Row {
    const char* why;
    std::uint32_t hosts, width, links;
  };
  for (const Row& row : std::vector<Row>{{"a square", 16, 4, 2 * (16 + 4 * 4)},
                                         {"the least", 2, 2, 2 * (2 + 1 * 2)},
                                         {"the last leaf is not full", 10, 4, 2 * (10 + 3 * 4)},
                                         {"a large square", 1024, 32, 2 * (1024 + 32 * 32)}}) {
    SCOPED_TRACE(row.why);
    EXPECT_EQ(leaf_width(row.hosts), row.width);
    const Topology network = load_network(row.hosts);
    EXPECT_EQ(network.endpoints, row.hosts);
    EXPECT_EQ(network.links.size(), row.links);
    for (const DirectedLink& link : network.links) {
      ASSERT_EQ(link.bytes_per_s, kLoadLinkBytesPerS);
      ASSERT_EQ(link.latency, 0);
    }
  }
}

TEST(FlowLoad, RandomFlowsAreUniformAndExponential) {
  LoadSource source(LoadPattern::kRandom, 5, /*seed=*/7), again(LoadPattern::kRandom, 5, 7);
  std::map<std::pair<VertexId, VertexId>, int> pairs;
  double sum = 0, squares = 0;
  constexpr int kFlows = 100000;
  for (int i = 0; i < kFlows; ++i) {
    const LoadFlow flow = source.next(), same = again.next();
    ASSERT_EQ(flow.bytes, same.bytes);
    ASSERT_NE(flow.from, flow.to);
    ASSERT_EQ(flow.bytes, std::ceil(flow.bytes));
    ASSERT_GE(flow.bytes, 1);
    ++pairs[{flow.from, flow.to}];
    sum += flow.bytes;
    squares += flow.bytes * flow.bytes;
  }
  EXPECT_EQ(source.taken(), std::uint64_t{kFlows});
  ASSERT_EQ(pairs.size(), 20u);
  for (const auto& [pair, count] : pairs) EXPECT_NEAR(count, kFlows / 20, 400);  // 5.8 deviations
  const double mean = sum / kFlows;
  EXPECT_NEAR(mean / kMeanRandomBytes, 1, 0.02);
  EXPECT_NEAR(squares / kFlows / (mean * mean), 2, 0.05);  // the mark of an exponential
}

TEST(FlowLoad, ARingStepTakesWhatOneFlowTakesAlone) {
  // Each link carries one flow at most: hosts of a leaf follow each other, and D-mod-K sends the
  // flow that leaves a leaf over a spine of its own.
  for (std::uint32_t hosts : {2u, 3u, 16u, 100u, 1000u}) {
    SCOPED_TRACE(hosts);
    FlowLoad load(LoadPattern::kRing, hosts, /*flows=*/1, /*seed=*/1);
    EXPECT_EQ(load.running(), hosts);
    std::set<std::uint64_t> seen;
    for (int step = 1; step <= 3; ++step) {
      load.advance();
      EXPECT_EQ(load.ended().size(), hosts);
      EXPECT_NEAR(load.now(), step * kRingBytes / kLoadLinkBytesPerS, 1e-15);
      seen.insert(load.ended().begin(), load.ended().end());
    }
    EXPECT_EQ(seen.size(), 3 * hosts);
    EXPECT_EQ(*seen.rbegin(), 3 * hosts - 1);
  }
}

// The closed loop again, with all rates from the oracle at each event.
class PlainLoop {
 public:
  PlainLoop(std::uint32_t hosts, std::uint32_t flows, std::uint64_t seed)
      : network_(load_network(hosts)), source_(LoadPattern::kRandom, hosts, seed) {
    for (std::uint32_t i = 0; i < flows; ++i) start();
  }
  // Returns the number and the end of the next flow that ends.
  std::pair<std::uint64_t, double> next() {
    const std::vector<double> rates =
        plain_max_min(std::vector<double>(network_.links.size(), kLoadLinkBytesPerS), streams_);
    std::size_t first = 0;
    for (std::size_t i = 0; i < flows_.size(); ++i) {
      if (flows_[i].left / rates[i] < flows_[first].left / rates[first]) first = i;
    }
    const double passed = flows_[first].left / rates[first];
    now_ += passed;
    for (std::size_t i = 0; i < flows_.size(); ++i) flows_[i].left -= passed * rates[i];
    const std::uint64_t number = flows_[first].number;
    flows_.erase(flows_.begin() + static_cast<std::ptrdiff_t>(first));
    streams_.erase(streams_.begin() + static_cast<std::ptrdiff_t>(first));
    start();
    return {number, now_};
  }

 private:
  struct Running {
    std::uint64_t number;
    double left;
  };
  void start() {
    const std::uint64_t number = source_.taken();
    const LoadFlow flow = source_.next();
    const std::uint32_t paths = network_.paths->count(flow.from, flow.to);
    flows_.push_back({number, flow.bytes});
    PlainStream& stream = streams_.emplace_back();
    stream.path = walk(network_, flow.from, flow.to, flow.to % paths);
    stream.cap = kNever;
  }
  Topology network_;
  LoadSource source_;
  std::vector<Running> flows_;
  std::vector<PlainStream> streams_;  // of flows_
  double now_ = 0;
};

// Short runs: the loop itself magnifies differences. A flow that loses a byte while it is fast and
// ends while it is slow is later by more than what delayed it; after 200 flows in each place a
// millionth of a byte has grown to milliseconds.
TEST(FlowLoad, ClosedLoopAgreesWithPlainWaterFilling) {
  struct Row {
    const char* why;
    std::uint32_t hosts, flows;
    std::uint64_t seed;
    int events;
  };
  for (const Row& row : std::vector<Row>{{"several flows per host", 16, 40, 2, 400},
                                         {"a last leaf that is not full", 11, 40, 3, 400},
                                         {"mostly alone", 16, 5, 1, 300}}) {
    SCOPED_TRACE(row.why);
    FlowLoad load(LoadPattern::kRandom, row.hosts, row.flows, row.seed);
    PlainLoop plain(row.hosts, row.flows, row.seed);
    for (int i = 0; i < row.events; ++i) {
      load.advance();
      ASSERT_EQ(load.ended().size(), 1u);
      ASSERT_EQ(load.running(), row.flows);
      const auto [number, end] = plain.next();
      ASSERT_EQ(load.ended().front(), number);
      ASSERT_NEAR(load.now() / end, 1, 1e-10);
    }
  }
}

}  // namespace
}  // namespace weft
