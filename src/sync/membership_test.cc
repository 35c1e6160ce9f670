// Ranks that die, come and come back from checkpoints, under every mode and random delays.
#include <gmock/gmock.h>

#include <cstdlib>

#include "sync/quadratic_testing.h"

namespace weft::sync {
namespace {

const char* const kModes[] = {"bsp",
                              "bsp:backup=1",
                              "ssp:bound=2",
                              "asp",
                              "ssp:bound=1,period=3",
                              "local:period=4",
                              "local:period=5,overlap=3",
                              "local:adaptive,period=6",
                              "post-local:warmup=15,period=4",
                              "hierarchical:inner=2,outer=6,group=2",
                              "diloco:period=6",
                              "diloco:period=7,fragments=3,overlap=4,mixing=0.5",
                              "diloco:period=6,eager",
                              "diloco:period=6,fragments=2,eager",
                              "gossip",
                              "gossip:graph=one-peer,period=2",
                              "lazy:threshold=1e-3,check=3",
                              "slowmo:period=4",
                              "fedavg:period=4,participation=0.5",
                              "fednova:period=4",
                              "scaffold:period=4",
                              "scaffold:period=3,participation=0.6",
                              "fedadam",
                              "fedbuff:period=3,buffer=2"};

constexpr std::uint32_t kMostRanks = 8;

// Between 2 and kMostRanks of the ranks, some of those at work now among them.
std::vector<Member> draw_members(const Quadratics& q, const std::vector<Member>& now,
                                 Random& random) {
  while (true) {
    std::vector<Member> members;
    bool known = false;
    for (std::uint32_t i = 0; i < kMostRanks; ++i) {
      if (!random.chance(0.6)) continue;
      members.push_back({i, q.weights[i]});
      known = known ||
              std::any_of(now.begin(), now.end(), [&](const Member& m) { return m.rank == i; });
    }
    if (members.size() >= 2 && known) return members;
  }
}

// Modes after whose rounds all ranks hold the same parameters.
bool agrees(const Mode& mode) {
  return mode.exchange == Exchange::kGradients || mode.backup > 0 ||
         (mode.exchange == Exchange::kDeltas && mode.fragments == 1 && mode.overlap == 0 &&
          mode.group == 0);
}

void run_one(const std::string& text, std::uint64_t seed) {
  SCOPED_TRACE(text + ", seed " + std::to_string(seed));
  Random random(seed);
  const Quadratics q = Quadratics::draw(kMostRanks, 6, seed);
  SwarmOptions options = q.swarm(*parse_mode(text));
  const Mode mode = options.mode;
  std::vector<Member> members = draw_members(q, options.members, random);
  options.members = members;
  options.label = "WEFT_SEED=" + std::to_string(seed);
  options.lr = 0.02;
  options.servers = 3;
  options.step_s = [&](std::uint32_t rank) { return random.uniform(0.2, 1 + rank * 0.2); };
  options.message_s = [&] { return random.chance(0.5) ? 0 : random.exponential(0.3); };
  Swarm swarm(std::move(options));
  for (int change = 0; change < 6; ++change) {
    swarm.run_until(swarm.now() + random.uniform(0, 30));
    members = draw_members(q, members, random);
    swarm.change_members(members, random.chance(0.3));
  }
  std::uint64_t round = 0;
  for (const Member& member : members) {
    round = std::max(round, swarm.rank(member.rank).machine.round());
  }
  // Everybody goes on, and at the end of a round everybody has the same.
  const std::uint32_t first = members.front().rank;
  std::map<std::uint64_t, std::vector<double>> agreed;
  int compared = 0;
  swarm.on_begin = [&](std::uint32_t rank) {
    if (!agrees(mode)) return;
    Swarm::Rank& r = swarm.rank(rank);
    const bool local = mode.exchange == Exchange::kDeltas && r.machine.step() >= mode.warmup;
    const auto& values = local ? *r.replica.vectors()[0].values : r.parameters;
    const auto [at, fresh] = agreed.try_emplace(r.machine.round(), values);
    EXPECT_LT(distance(at->second, values), 1e-12) << "round " << r.machine.round();
    compared += fresh ? 0 : 1;
  };
  swarm.run_rounds(round + 30);
  EXPECT_GE(swarm.rank(first).machine.round(), round + 30);
  // Of backup workers the slow ones pass over rounds.
  EXPECT_TRUE(!agrees(mode) || compared > (mode.backup > 0 ? 0 : 20)) << compared;
}

TEST(Membership, EveryModeGoesOnThroughDeathsJoinsAndRestarts) {
  for (const char* text : kModes) {
    for (const std::uint64_t seed :
         seeds_to_try(25, std::getenv("WEFT_SEED"), std::getenv("WEFT_SOAK"))) {
      run_one(text, seed);
      if (testing::Test::HasFailure()) return;
    }
  }
}

TEST(Membership, TheOptimumIsThatOfThoseWhoAreThere) {
  const Quadratics q = Quadratics::draw(6, 4, 8);
  for (const char* text : {"bsp", "scaffold:period=4", "ssp:bound=0"}) {
    for (const bool restart : {false, true}) {
      for (const std::uint32_t left : {3U, 6U}) {
        SwarmOptions options = q.swarm(*parse_mode(text));
        const std::vector<Member> all = options.members;
        options.members.resize(4);
        options.lr = 0.05;
        Swarm swarm(std::move(options));
        swarm.run_rounds(50);
        std::vector<Member> members(all.begin(), all.begin() + left);
        swarm.change_members(members, restart);
        swarm.run_rounds(900);
        Quadratics rest = q;
        rest.h.resize(left), rest.b.resize(left), rest.weights.resize(left);
        EXPECT_LT(distance(swarm.rank(left - 1).parameters, rest.optimum()), 1e-6)
            << text << " from 4 to " << left << (restart ? " from a checkpoint" : "");
      }
    }
  }
}

TEST(Membership, LossGoesOnAfterARestartWithOtherRanks) {
  for (const char* text : kModes) {
    Quadratics q = Quadratics::draw(6, 4, 8);
    const std::vector<double> optimum = q.optimum();
    SwarmOptions options = q.swarm(*parse_mode(text));
    const std::vector<Member> all = options.members;
    options.members.resize(4);
    options.lr = 0.01;
    Swarm swarm(std::move(options));
    swarm.run_steps(60);
    const double before = distance(swarm.rank(0).parameters, optimum);
    swarm.change_members(all, true);
    double after = 0;
    for (const Member& member : all) {
      Swarm::Rank& r = swarm.rank(member.rank);
      while (r.machine.waiting()) ASSERT_TRUE(swarm.turn()) << text;
      after = std::max(after, distance(r.parameters, optimum));
    }
    EXPECT_LT(after, before + 1.0) << text << ": newcomers begin where the others are";
  }
}

}  // namespace
}  // namespace weft::sync
