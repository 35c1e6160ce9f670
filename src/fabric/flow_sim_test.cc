#include "fabric/flow_sim.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/random.h"
#include "fabric/max_min_testing.h"

namespace weft {
namespace {

const LinkId kFirst[] = {0}, kSecond[] = {1}, kBoth[] = {0, 1};

std::vector<std::pair<Seconds, FlowId>> run_out(FlowSim& sim) {
  std::vector<std::pair<Seconds, FlowId>> ends;
  std::vector<FlowId> ended;
  while (sim.next_end() < kNever) {
    sim.advance_to(sim.next_end(), ended);
    std::sort(ended.begin(), ended.end());
    for (FlowId id : ended) ends.emplace_back(sim.now(), id);
  }
  return ends;
}

TEST(FlowSim, SpeedsUpWhenOthersEnd) {
  FlowSim sim({10, 10});
  const FlowId a = sim.start({kFirst}, 20);
  const FlowId b = sim.start({kBoth}, 50);
  const FlowId c = sim.start({kSecond}, 5);
  // 5 each until c ends at 1; a and b share link 0 until a ends at 4 (20 bytes at 5); b has 30 left
  // and the link to itself.
  const std::vector<std::pair<Seconds, FlowId>> want = {{1, c}, {4, a}, {7, b}};
  EXPECT_EQ(run_out(sim), want);
  EXPECT_EQ(sim.running(), 0u);
}

TEST(FlowSim, EndsEmptyFlowsAtOnceAndHoldsThoseOnFailedLinks) {
  FlowSim sim({0, 10});
  const FlowId empty = sim.start({kSecond}, 0);
  const FlowId stuck = sim.start({kBoth}, 10);
  EXPECT_EQ(sim.next_end(), 0);
  std::vector<FlowId> ended;
  sim.advance_to(0, ended);
  EXPECT_EQ(ended, std::vector<FlowId>{empty});
  EXPECT_EQ(sim.next_end(), kNever);
  sim.advance_to(5, ended);
  sim.set_capacity(0, 2);
  EXPECT_EQ(sim.next_end(), 10);
  sim.advance_to(7, ended);
  EXPECT_EQ(sim.rate(stuck), 2);
  EXPECT_EQ(sim.stop(stuck), 6);
  EXPECT_EQ(sim.running(), 0u);
}

TEST(FlowSim, MergesEqualFlowsAndEndsTheShortestFirst) {
  FlowSim sim({12});
  const FlowId big = sim.start({kFirst}, 30);
  const FlowId small = sim.start({kFirst}, 6);
  std::vector<FlowId> ended;
  sim.advance_to(1, ended);  // 6 each
  EXPECT_EQ(ended, std::vector<FlowId>{small});
  EXPECT_EQ(sim.rate(big), 12);
  const FlowId late = sim.start({kFirst}, 6);
  EXPECT_EQ(sim.next_end(), 2);
  sim.advance_to(2, ended);
  EXPECT_EQ(ended, std::vector<FlowId>{late});
  EXPECT_EQ(sim.bytes_left(big), 18);
}

// Against a simulation that solves everything anew at every event.
TEST(FlowSim, AgreesWithThePlainSimulation) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    std::vector<double> capacity(4 + random.below(5));
    for (double& c : capacity) c = random.uniform(1, 10);
    FlowSim sim(capacity);
    struct Plain {
      PlainStream stream;
      double left, end;
    };
    std::map<FlowId, Plain> plain;
    for (int i = 0; i < 40; ++i) {
      PlainStream s;
      for (LinkId link = 0; link < capacity.size(); ++link) {
        if (random.chance(0.3)) s.path.push_back(link);
      }
      s.rank = static_cast<std::uint32_t>(random.below(3));
      s.weight = random.chance(0.5) ? 1 : 2;
      s.cap = s.path.empty() ? 1.0 : kNever;
      const double bytes = random.uniform(1, 50);
      plain[sim.start({s.path, s.rank, s.weight, s.cap}, bytes)] = {s, bytes, 0};
    }
    Seconds now = 0;
    for (std::size_t live = plain.size(); live > 0;) {
      std::vector<PlainStream> streams;
      std::vector<Plain*> open;
      for (auto& [id, p] : plain) {
        if (p.left <= 0) continue;
        streams.push_back(p.stream);
        open.push_back(&p);
      }
      const std::vector<double> rate = plain_max_min(capacity, streams);
      double step = kNever;
      for (std::size_t i = 0; i < open.size(); ++i) step = std::min(step, open[i]->left / rate[i]);
      now += step;
      for (std::size_t i = 0; i < open.size(); ++i) {
        open[i]->left -= rate[i] * step;
        if (open[i]->left > 1e-9) continue;
        open[i]->left = 0;
        open[i]->end = now;
        --live;
      }
    }
    for (const auto& [at, id] : run_out(sim)) EXPECT_NEAR(at, plain[id].end, 1e-9 * (1 + at));
  }
}

}  // namespace
}  // namespace weft
