#include "sync/machine.h"

#include <gmock/gmock.h>

#include "sync/quadratic_testing.h"

namespace weft::sync {
namespace {

// One process that takes the weighted mean gradient.
std::vector<double> one_process(const Quadratics& q, double lr, int steps) {
  std::vector<double> at(q.dimensions(), 1.0), own(at), mean(at);
  for (int s = 0; s < steps; ++s) {
    std::fill(mean.begin(), mean.end(), 0.0);
    for (std::uint32_t i = 0; i < q.b.size(); ++i) {
      q.gradient(i, at, own);
      for (std::size_t d = 0; d < at.size(); ++d) mean[d] += q.weights[i] * own[d];
    }
    for (std::size_t d = 0; d < at.size(); ++d) at[d] -= lr * mean[d];
  }
  return at;
}

TEST(Machine, ModesThatAgreeAtEveryStepEqualOneProcess) {
  const Quadratics q = Quadratics::draw(5, 7, 3);
  const std::vector<double> want = one_process(q, 0.1, 20);
  for (const char* text :
       {"bsp", "local:period=1", "diloco:period=1,outer_lr=1,outer_momentum=0", "ssp:bound=0",
        "post-local:warmup=9,period=1", "fednova:period=1", "scaffold:period=1",
        "hierarchical:inner=1,outer=1,group=2", "slowmo:period=1,outer_momentum=0"}) {
    Swarm swarm(q.swarm(mode(text)));
    swarm.run_rounds(20);
    EXPECT_LT(distance(swarm.rank(2).parameters, want), 1e-12) << text;
    EXPECT_LT(distance(swarm.rank(0).parameters, swarm.rank(4).parameters), 1e-15) << text;
  }
}

TEST(Machine, LocalStepsAreAveragedEveryPeriod) {
  const Quadratics q = Quadratics::draw(3, 2, 5);
  Swarm swarm(q.swarm(mode("local:period=4")));
  swarm.run_steps(12);
  swarm.run_rounds(3);
  EXPECT_EQ(swarm.messages(), 3U * 3U);
  // After 4 local steps a rank has gone (1 - (1 - lr h)^4) of its way to b.
  std::vector<double> at(2, 1.0);
  for (int round = 0; round < 3; ++round) {
    for (std::size_t d = 0; d < 2; ++d) {
      double mean = 0;
      for (std::size_t i = 0; i < 3; ++i) {
        const double left = std::pow(1 - 0.1 * q.h[i][d], 4);
        mean += q.weights[i] * (left * at[d] + (1 - left) * q.b[i][d]);
      }
      at[d] = mean;
    }
  }
  EXPECT_LT(distance(swarm.rank(1).parameters, at), 1e-12);
}

// "average 1" is an average of fragment 1, "proceed+" a whole step.
std::string told(const Actions& actions) {
  std::string text;
  for (const Action& action : actions) {
    static const char* const kNames[] = {"average", "apply", "exchange", "vote",
                                         "agree",   "adopt", "proceed"};
    text += text.empty() ? "" : ", ";
    text += kNames[static_cast<int>(action.kind)];
    if (action.what == What::kDeltas) text += " " + std::to_string(action.fragment);
    if (action.what == What::kParameters) text += " of " + std::to_string(action.ranks.size());
    if (action.whole) text += "+";
  }
  return text;
}

TEST(Machine, BspStopsAtGradients) {
  Machine machine = *Machine::make(mode("bsp"), members(2), 0);
  EXPECT_EQ(told(machine.start()), "proceed");
  const Actions actions = machine.stepped({});
  EXPECT_EQ(told(actions), "average");
  EXPECT_TRUE(machine.waiting());
  EXPECT_EQ(told(machine.arrived(99, {})), "") << "not its operation";
  EXPECT_EQ(told(machine.arrived(actions[0].id, {})), "apply, proceed");
  EXPECT_EQ(machine.round(), 1U);
}

TEST(Machine, PostLocalChangesOverOnce) {
  Machine machine = *Machine::make(mode("post-local:warmup=1,period=2"), members(2), 0);
  EXPECT_EQ(told(machine.start()), "proceed");
  const std::uint64_t id = machine.stepped({})[0].id;
  EXPECT_EQ(told(machine.arrived(id, {})), "apply, agree, proceed+");
  EXPECT_EQ(told(machine.stepped({})), "proceed+");
  EXPECT_EQ(told(machine.stepped({})), "average 0");
}

// Fragments of a period of 6 with three of them come due at steps 2, 4 and 6 and every 6 after.
TEST(Machine, FragmentsAreStaggeredAndOverlap) {
  Machine machine = *Machine::make(mode("diloco:period=6,fragments=3,overlap=2"), members(2), 0);
  EXPECT_EQ(told(machine.start()), "agree, proceed+");
  EXPECT_EQ(told(machine.stepped({})), "proceed+");
  const Actions first = machine.stepped({});
  EXPECT_EQ(told(first), "average 0, proceed+") << "goes on while it is under way";
  EXPECT_EQ(told(machine.stepped({})), "proceed+");
  EXPECT_EQ(told(machine.arrived(first[0].id, {})), "") << "early: applied when all apply it";
  const Actions second = machine.stepped({});
  EXPECT_EQ(told(second), "average 1, apply 0, proceed+");
  EXPECT_EQ(second[0].steps, 4U) << "steps that the fragment has gone";
  EXPECT_EQ(told(machine.stepped({})), "proceed+");
  const Actions third = machine.stepped({});
  EXPECT_EQ(told(third), "average 2") << "now it waits for fragment 1";
  EXPECT_EQ(told(machine.arrived(second[0].id, {})), "apply 1, proceed+");
  EXPECT_EQ(told(machine.stepped({})), "proceed+");
  EXPECT_EQ(told(machine.stepped({})), "average 0");
}

TEST(Machine, HierarchiesAverageInGroupsBetweenRounds) {
  Machine machine = *Machine::make(mode("hierarchical:inner=2,outer=4,group=3"), members(8), 7);
  machine.start();
  machine.stepped({});
  const Actions inner = machine.stepped({});
  EXPECT_EQ(told(inner), "average of 2") << "ranks 6 and 7 are what is left";
  EXPECT_EQ(told(machine.arrived(inner[0].id, {})), "apply of 2, proceed+");
  machine.stepped({});
  EXPECT_EQ(told(machine.stepped({})), "average 0");
}

TEST(Machine, LazyVotesFirst) {
  Machine machine = *Machine::make(mode("lazy:threshold=0.5,check=1"), members(2), 0);
  machine.start();
  Actions vote = machine.stepped({});
  EXPECT_EQ(told(vote), "vote");
  EXPECT_EQ(told(machine.voted(vote[0].id, 0.5)), "proceed+") << "not above";
  vote = machine.stepped({});
  EXPECT_EQ(told(machine.voted(vote[0].id, 0.6)), "average 0");
  Machine other = *Machine::make(mode("lazy:threshold=0.5,check=1"), members(2), 0);
  other.start();
  vote = other.stepped({});
  EXPECT_EQ(told(other.voted(vote[0].id, std::nan(""))), "average 0")
      << "no number is no small one";
}

TEST(Machine, RanksThatWereNotDrawnOnlyTakePart) {
  std::uint32_t working = 0;
  for (std::uint32_t self = 0; self < 4; ++self) {
    Machine machine = *Machine::make(mode("fedavg:period=2,participation=0.5"), members(4), self);
    const Actions actions = machine.start();
    if (told(actions) == "agree, proceed+") {
      ++working;
    } else {
      EXPECT_EQ(told(actions), "agree, average 0");
      EXPECT_EQ(actions[1].weight, 0);
      EXPECT_EQ(actions[1].steps, 0U);
    }
  }
  EXPECT_EQ(working, 2U);
}

TEST(Machine, RanksThatWereNotDrawnMayTakeTheirStepsInVain) {
  int counted = 0;
  for (std::uint32_t self = 0; self < 4; ++self) {
    Machine machine = *Machine::make(mode("fedavg:period=2,participation=0.5"), members(4), self);
    machine.take_all_steps();
    EXPECT_EQ(told(machine.start()), "agree, proceed+");
    EXPECT_EQ(told(machine.stepped({})), "proceed+");
    const Actions actions = machine.stepped({});
    EXPECT_EQ(told(actions), "average 0");
    EXPECT_EQ(actions[0].steps, 2U);
    counted += actions[0].weight > 0 ? 1 : 0;
  }
  EXPECT_EQ(counted, 2);
}

TEST(Machine, ServersAreAskedEveryPeriod) {
  Machine machine = *Machine::make(mode("ssp:period=2"), members(4), 1);
  machine.start();
  EXPECT_EQ(told(machine.stepped({})), "proceed+");
  const Actions exchange = machine.stepped({});
  EXPECT_EQ(told(exchange), "exchange 0");
  EXPECT_EQ(exchange[0].step, 1U) << "the clock that it reaches";
  EXPECT_DOUBLE_EQ(exchange[0].weight, 0.25);
  EXPECT_EQ(told(machine.answered(exchange[0].id, 1)), "proceed+");
}

TEST(Machine, BackupWorkersGoOnFromTheNewestUpdate) {
  Machine machine = *Machine::make(mode("bsp:backup=1"), members(4), 1);
  EXPECT_EQ(told(machine.start()), "agree, proceed+");
  Actions exchange = machine.stepped({});
  EXPECT_EQ(told(exchange), "exchange 0");
  EXPECT_EQ(exchange[0].step, 1U) << "towards the first update";
  EXPECT_EQ(exchange[0].weight, 1) << "the servers weigh";
  EXPECT_EQ(told(machine.answered(exchange[0].id, 5)), "proceed+") << "five were made meanwhile";
  EXPECT_EQ(machine.step(), 5U);
  EXPECT_EQ(machine.round(), 5U);
  exchange = machine.stepped({});
  EXPECT_EQ(told(exchange), "exchange 0");
  EXPECT_EQ(exchange[0].step, 6U);
}

TEST(Machine, WeightsMayChangeBetweenRounds) {
  const Quadratics q = Quadratics::draw(3, 4, 6);
  SwarmOptions options = q.swarm(mode("bsp"));
  Swarm swarm(std::move(options));
  swarm.run_rounds(10);
  Quadratics other = q;
  other.weights = {0.2, 0.5, 0.3};
  for (std::uint32_t i = 0; i < 3; ++i) swarm.rank(i).machine.set_weights(other.weights);
  swarm.run_rounds(500);
  EXPECT_LT(distance(swarm.rank(2).parameters, other.optimum()), 1e-9);
}

// A rank that was to adopt another's state goes on with its own when that other is gone, too.
TEST(Machine, AdoptionThatFailsIsForgotten) {
  Machine machine = *Machine::make(mode("local:period=1"), members(3), 0);
  machine.start();
  EXPECT_EQ(told(machine.stepped({})), "average 0");
  EXPECT_EQ(told(machine.change_members({{0}, {1, 1, 0, 1}}, 1)), "adopt");
  EXPECT_EQ(told(machine.change_members({{0}, {2}}, 2)), "average 0") << "what it had begun before";
}

TEST(Machine, WhatDoesNotGoTogetherIsRefused) {
  std::vector<Member> uneven = members(2);
  uneven[1].steps = 3;
  EXPECT_FALSE(Machine::make(mode("bsp"), uneven, 0).ok());
  EXPECT_FALSE(Machine::make(mode("diloco:fragments=2"), uneven, 0).ok());
  EXPECT_TRUE(Machine::make(mode("fednova"), uneven, 0).ok());
  EXPECT_FALSE(Machine::make(mode("bsp:backup=2"), members(2), 0).ok());
  uneven[0].weight = std::nan("");
  EXPECT_FALSE(Machine::make(mode("fednova"), uneven, 0).ok());
}

}  // namespace
}  // namespace weft::sync
