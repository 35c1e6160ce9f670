// What the timing sees, held against the closed forms: a latency of 5 us, links of 12.5 GB/s, 100
// MB.
#include "collective/phases.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "collective/algorithms.h"

namespace weft::collective {
namespace {

constexpr double kLatency = 5e-6;
constexpr double kBandwidth = 12.5e9;
constexpr double kBytes = 1e8;

// The largest part that any endpoint sends or receives in a round.
double busiest(const std::vector<Flow>& flows, int endpoints) {
  std::vector<double> out(static_cast<std::size_t>(endpoints));
  std::vector<double> in(out);
  for (const Flow& flow : flows) {
    out[static_cast<std::size_t>(flow.from)] += flow.fraction;
    in[static_cast<std::size_t>(flow.to)] += flow.fraction;
  }
  return std::max(*std::max_element(out.begin(), out.end()),
                  *std::max_element(in.begin(), in.end()));
}

// One stream on an ideal switch, a round after the other; what is streamed adds its latency only.
double seconds(const Schedule& schedule, double latency, double bytes_per_s, double bytes) {
  double total = 0;
  std::vector<Flow> flows;
  const StreamPhases stream(schedule, 0);
  for (const Phase& phase : stream.phases()) {
    const std::int64_t distinct = phase.same_traffic ? 1 : phase.repeat;
    for (std::int64_t i = 0; i < distinct; ++i) {
      flows.clear();
      stream.add_flows(phase, i, flows);
      if (flows.empty()) continue;
      const bool streamed =
          std::any_of(flows.begin(), flows.end(), [](const Flow& f) { return f.streamed; });
      // In and out of a switch are different ports of it.
      const double part = streamed ? flows.front().fraction : busiest(flows, schedule.endpoints());
      const double round = latency * (streamed ? 2 : 1) + part * bytes / bytes_per_s;
      total += round * static_cast<double>(phase.repeat / distinct);
    }
  }
  return total;
}

struct Case {
  const char* sentence;
  std::string name;
  Request request;
  double want_ms;
};

TEST(Phases, AddUpToTheClosedForms) {
  const std::vector<Case> cases = {
      {"2(p-1)a + 2(p-1)/p n/B", "ring", {.ranks = 8}, 14.070},
      {"the same at 64", "ring", {.ranks = 64}, 16.380},
      {"the same at 1024", "ring", {.ranks = 1024}, 26.214375},
      {"2 log2 p a + 2(p-1)/p n/B", "halving-doubling", {.ranks = 8}, 14.030},
      {"the same at 64", "halving-doubling", {.ranks = 64}, 15.810},
      {"the same at 1024", "halving-doubling", {.ranks = 1024}, 16.084375},
      {"2a + n/B", "in-network", {.ranks = 8}, 8.010},
      {"2 log2 p (a + n/B)", "binomial", {.ranks = 64}, 96.060},
      {"(p-1)a + (p-1)/p n/B", "direct", {.operation = Operation::kAllToAll, .ranks = 8}, 7.035},
      {"(p-1)a + (p-1)/p n/B", "ring", {.operation = Operation::kAllGather, .ranks = 8}, 7.035},
      {"(p-1)a + (p-1)/p n/B", "ring", {.operation = Operation::kReduceScatter, .ranks = 8}, 7.035},
      {"log2 p a + (p-1)/p n/B", "bruck", {.operation = Operation::kAllGather, .ranks = 8}, 7.015},
      {"log2 p a", "dissemination", {.operation = Operation::kBarrier, .ranks = 8}, 0.015},
      {"(p-2+k)(a + n/kB)",
       "chain",
       {.operation = Operation::kBroadcast, .ranks = 8, .chunks = 10},
       (6 + 10) * (0.005 + 0.8)},
      {"the direct form and the gathering, both of a hundredth",
       "sparse",
       {.ranks = 8, .density = 0.01},
       7 * 0.005 + 3 * 0.005 + 0.01 * 2 * 7.0},
      {"p ranks push n to each of the servers' shares, then pull",
       "parameter-server",
       {.ranks = 8, .servers = 4},
       2 * (0.005 + 8.0 / 4 * 8)},
  };
  for (const Case& c : cases) {
    const Schedule schedule = *generate(c.name, c.request);
    EXPECT_NEAR(seconds(schedule, kLatency, kBandwidth, kBytes) * 1e3, c.want_ms, 1e-9 * c.want_ms)
        << c.name << ": " << c.sentence;
  }
}

// Every stream of a torus has links of its own, so the slowest stream is the time of all.
double torus_seconds(const char* name, std::vector<int> dims, double bytes_per_s, double bytes) {
  int ranks = 1;
  for (const int side : dims) ranks *= side;
  const Schedule schedule = *generate(name, {.ranks = ranks, .dims = dims});
  std::vector<StreamPhases> streams;
  for (int s = 0; s < schedule.streams(); ++s) streams.emplace_back(schedule, s);
  double total = 0;
  for (std::size_t k = 0; k < streams[0].phases().size(); ++k) {
    std::set<std::pair<int, int>> links;
    std::vector<Flow> flows;
    for (const StreamPhases& stream : streams) {
      EXPECT_TRUE(stream.phases()[k].same_traffic);
      EXPECT_EQ(stream.phases()[k].repeat, streams[0].phases()[k].repeat);
      stream.add_flows(stream.phases()[k], 0, flows);
    }
    for (const Flow& flow : flows) EXPECT_TRUE(links.emplace(flow.from, flow.to).second);
    total += static_cast<double>(streams[0].phases()[k].repeat) * flows.front().fraction;
  }
  return total * bytes / bytes_per_s;
}

TEST(Phases, TorusUsesAllItsLinks) {
  const double once = torus_seconds("torus", {16, 16, 16}, 50e9, 1e9);
  const double sequence = torus_seconds("torus-sequential", {16, 16, 16}, 50e9, 1e9);
  EXPECT_NEAR(once, 2.0 * 4095 / 4096 / 6 / 50, 1e-12);
  EXPECT_NEAR(once, 6.67e-3, 0.001 * 6.67e-3);
  EXPECT_NEAR(sequence, 20.0e-3, 0.001 * 20.0e-3);
}

TEST(Phases, TwoLevelsTakeTheTimeOfTheirRings) {
  const Schedule schedule = *generate("hierarchical", {.ranks = 1024, .per_node = 8});
  const StreamPhases stream(schedule, 0);
  double inside = 0;
  double rails = 0;
  for (const Phase& phase : stream.phases()) {
    std::vector<Flow> flows;
    stream.add_flows(phase, 0, flows);
    const bool in_node = flows[0].from / 8 == flows[0].to / 8;
    (in_node ? inside : rails) += flows[0].fraction * static_cast<double>(phase.repeat);
  }
  // 1 GB on 128 nodes of 8 at 370 GB/s inside and 48.5 GB/s on each rail: 9.84 ms.
  EXPECT_NEAR(inside, 2.0 * 7 / 8, 1e-12);
  EXPECT_NEAR(rails, 2.0 * 127 / 128 / 8, 1e-12);
  EXPECT_NEAR((inside / 370 + rails / 48.5) * 1e3, 9.84, 0.01);
}

TEST(Phases, AreFewHoweverManyRanks) {
  const Schedule ring = *generate("ring", {.ranks = 16384});
  const StreamPhases stream(ring, 0);
  ASSERT_EQ(stream.phases().size(), 3U);
  std::int64_t rounds = 0;
  for (const Phase& phase : stream.phases()) {
    EXPECT_TRUE(phase.same_traffic);
    EXPECT_EQ(phase.first, rounds);
    rounds += phase.repeat;
  }
  EXPECT_EQ(rounds, 2 * (16384 - 1));
}

TEST(Phases, SayWhenTrafficMoves) {
  const Schedule direct = *generate("direct", {.operation = Operation::kAllToAll, .ranks = 5});
  const StreamPhases stream(direct, 0);
  ASSERT_EQ(stream.phases().size(), 2U);  // the copy of the own part, then the exchange
  EXPECT_FALSE(stream.phases()[1].same_traffic);
  std::vector<Flow> flows;
  stream.add_flows(stream.phases()[1], 2, flows);
  ASSERT_EQ(flows.size(), 5U);
  EXPECT_EQ(flows[1], (Flow{1, 4, 0.2, false}));
}

TEST(Phases, FollowTheWeightsOfPairs) {
  const Request request{
      .operation = Operation::kAllToAll, .ranks = 2, .pair_weights = {5, 3, 1, 1}};
  const Schedule schedule = *generate("direct", request);
  std::vector<Flow> flows;
  const StreamPhases stream(schedule, 0);
  stream.add_flows(stream.phases()[1], 0, flows);
  ASSERT_EQ(flows.size(), 2U);
  EXPECT_EQ(flows[0], (Flow{0, 1, 3.0 / 8, false}));
  EXPECT_EQ(flows[1], (Flow{1, 0, 1.0 / 8, false}));
}

TEST(Phases, SendsOfOneRoundToOnePeerAreOneFlow) {
  Schedule schedule = *generate("halving-doubling", {.ranks = 4});
  for (Program& program : schedule.programs) {
    Round& round = program.streams[0][0];
    Op half = round.ops[0];
    half.source.count = 1;
    round.ops[0] = half;
    half.source.base += 1;
    round.ops.push_back(half);
  }
  std::vector<Flow> flows;
  const StreamPhases stream(schedule, 0);
  stream.add_flows(stream.phases()[0], 0, flows);
  ASSERT_EQ(flows.size(), 4U);
  EXPECT_EQ(flows[0], (Flow{0, 2, 0.5, false}));
}

}  // namespace
}  // namespace weft::collective
