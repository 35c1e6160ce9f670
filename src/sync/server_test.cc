#include "sync/server.h"

#include <gmock/gmock.h>

#include <cstdlib>

#include <cmath>
#include <map>
#include <set>

#include "sync/quadratic_testing.h"

namespace weft::sync {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Kind = ServerAction::Kind;

TEST(ShardServer, AnswersOnceTheSlowestIsWithinTheBound) {
  ShardServer server(mode("ssp:bound=1"), members(2));
  EXPECT_THAT(*server.pushed(0, 1),
              ElementsAre(ServerAction{Kind::kAdd, 0, 1}, ServerAction{Kind::kAnswer, 0, 1}));
  EXPECT_THAT(*server.pushed(0, 2), ElementsAre(ServerAction{Kind::kAdd, 0, 1})) << "2 ahead: wait";
  EXPECT_THAT(*server.pushed(1, 1),
              ElementsAre(ServerAction{Kind::kAdd, 1, 1}, ServerAction{Kind::kAnswer, 0, 1},
                          ServerAction{Kind::kAnswer, 1, 1}));
  EXPECT_EQ(server.slowest(), 1U);
}

TEST(ShardServer, RepeatedPushesCountOnce) {
  ShardServer server(mode("asp"), members(2));
  EXPECT_EQ(server.pushed(0, 1)->size(), 2U);
  EXPECT_THAT(*server.pushed(0, 1), ElementsAre(ServerAction{Kind::kAnswer, 0, 1}));
  EXPECT_EQ(server.version(), 1U);
}

TEST(ShardServer, RefusesWhatTheProtocolDoesNotSend) {
  ShardServer server(mode("ssp"), members(2));
  EXPECT_THAT(server.pushed(7, 1).error().what, HasSubstr("not a member"));
  EXPECT_THAT(server.pushed(0, 2).error().what, HasSubstr("its last was 0"));
}

TEST(ShardServer, WhoLeavesHoldsNobodyUp) {
  ShardServer server(mode("ssp:bound=0"), members(3));
  EXPECT_EQ(server.pushed(0, 1)->size(), 1U);
  EXPECT_EQ(server.pushed(1, 1)->size(), 1U);
  server.change_members({{0}, {1}});
  EXPECT_THAT(*server.pushed(0, 1), ElementsAre(ServerAction{Kind::kAnswer, 0, 1}))
      << "asked again in the new epoch; not counted again";
}

TEST(ShardServer, AServerMadeAnewCountsFromTheRoundsOfTheRanks) {
  ShardServer server(mode("asp"), {});
  server.change_members({{0, 1, 0, 3}, {1, 1, 0, 9}, {2, 1, 0, 0, true}});
  EXPECT_TRUE(server.pushed(0, 4).ok());
  EXPECT_TRUE(server.pushed(1, 10).ok());
  EXPECT_THAT(server.pushed(2, 5).error().what, HasSubstr("its last was 3"));
}

TEST(ShardServer, WhoHasEndedIsNotWaitedFor) {
  ShardServer server(mode("ssp:bound=0"), members(3));
  ASSERT_TRUE(server.pushed(0, 1).ok() && server.pushed(1, 1).ok());
  EXPECT_THAT(server.left(2),
              ElementsAre(ServerAction{Kind::kAnswer, 0, 1}, ServerAction{Kind::kAnswer, 1, 1}));
}

// Beside the rule as it is written, with every rank looked at after every event.
TEST(ShardServer, AnswersExactlyThoseWhoAreNearEnough) {
  for (const std::uint64_t seed :
       seeds_to_try(50, std::getenv("WEFT_SEED"), std::getenv("WEFT_SOAK"))) {
    Random random(seed);
    const auto count = static_cast<std::uint32_t>(2 + random.below(8));
    const std::uint64_t bound = random.below(4);
    ShardServer server(mode("ssp:bound=" + std::to_string(bound)), members(count));
    std::map<std::uint32_t, std::uint64_t> clocks;
    for (std::uint32_t rank = 0; rank < count; ++rank) clocks[rank] = 0;
    std::set<std::uint32_t> waiting;
    for (int turn = 0; turn < 300 && clocks.size() > 1; ++turn) {
      const auto rank = static_cast<std::uint32_t>(random.below(count));
      if (!clocks.contains(rank) || waiting.contains(rank)) continue;
      const bool leaves = random.chance(0.01);
      ServerActions actions;
      if (leaves) {
        clocks.erase(rank);
        actions = server.left(rank);
      } else {
        waiting.insert(rank);
        actions = *server.pushed(rank, ++clocks[rank]);
      }
      std::uint64_t least = kUnbounded;
      for (const auto& [each, clock] : clocks) least = std::min(least, clock);
      EXPECT_EQ(server.slowest(), least) << "WEFT_SEED=" << seed;
      std::vector<std::uint32_t> want, got;
      for (const std::uint32_t each : waiting) {
        if (clocks.at(each) - least <= bound) want.push_back(each);
      }
      for (const std::uint32_t each : want) waiting.erase(each);
      for (const ServerAction& action : actions) {
        if (action.kind == Kind::kAnswer) got.push_back(action.rank);
      }
      EXPECT_EQ(got, want) << "WEFT_SEED=" << seed;
    }
  }
}

// Choices and ways may come in any order; they are carried out in the order of the ballot.
TEST(ShardServer, CarriesOutTheChoicesOfABallot) {
  const ServerAction kept{Kind::kKeep, 1, 1};
  std::vector<Member> three = {{0, 1}, {1, 3}, {2, 5}};
  ShardServer server(mode("bsp:backup=1"), three);
  EXPECT_THAT(*server.pushed(1, 1), ElementsAre(kept));
  EXPECT_THAT(*server.chosen({2, 1, {2}, true}), ElementsAre()) << "the one before comes first";
  EXPECT_THAT(*server.chosen({1, 1, {0, 1}, false}), ElementsAre()) << "a way is missing";
  EXPECT_THAT(*server.pushed(0, 1),
              ElementsAre(ServerAction{Kind::kKeep, 0, 1}, ServerAction{Kind::kTake, 0, 0.25},
                          ServerAction{Kind::kTake, 1, 0.75}, ServerAction{Kind::kAnswer, 0, 1, 1},
                          ServerAction{Kind::kAnswer, 1, 1, 1}))
      << "weighed among those who count";
  EXPECT_EQ(server.version(), 1U);
  EXPECT_EQ(server.slowest(), 0U) << "rank 2 has pushed nothing yet";
  EXPECT_THAT(*server.pushed(2, 1), ElementsAre(ServerAction{Kind::kKeep, 2, 1},
                                                ServerAction{Kind::kAnswer, 2, 1, 1, false}));
  EXPECT_EQ(server.slowest(), 1U) << "it goes on with the others";
  EXPECT_THAT(*server.pushed(1, 2), ElementsAre(kept));
  EXPECT_THAT(server.pushed(1, 2).error().what, HasSubstr("before it was answered"));
  EXPECT_THAT(server.chosen({3, 2, {7}, false}).error().what, HasSubstr("not a member"));
}

TEST(ShardServer, FedBuffCollectsAndScalesStaleWays) {
  ShardServer server(mode("fedbuff:buffer=2,outer_lr=0.6"), members(3));
  EXPECT_THAT(*server.pushed(0, 1),
              ElementsAre(ServerAction{Kind::kCollect, 0, 1}, ServerAction{Kind::kAnswer, 0, 1}));
  EXPECT_THAT(*server.pushed(1, 1),
              ElementsAre(ServerAction{Kind::kCollect, 1, 1}, ServerAction{Kind::kMove, 1, 0.3},
                          ServerAction{Kind::kAnswer, 1, 1}));
  // Rank 2 started from the first shard and rank 0 was answered before the move: one move behind.
  EXPECT_EQ((*server.pushed(2, 1))[0], (ServerAction{Kind::kCollect, 2, 1 / std::sqrt(2.0)}));
  EXPECT_EQ((*server.pushed(0, 2))[0], (ServerAction{Kind::kCollect, 0, 1 / std::sqrt(2.0)}));
  EXPECT_EQ((*server.pushed(1, 2))[0], (ServerAction{Kind::kCollect, 1, 1 / std::sqrt(2.0)}));
}

// Two ranks, one parameter, gradients at -x + b: the steps of the shard by hand.
TEST(ShardServer, FedBuffMovesAsComputedByHand) {
  Quadratics q;
  q.h = {{1}, {1}}, q.b = {{0}, {4}}, q.weights = {0.5, 0.5};
  SwarmOptions options = q.swarm(mode("fedbuff:buffer=2,period=2,outer_lr=0.5"));
  options.lr = 0.5;
  options.step_s = [](std::uint32_t rank) { return rank == 0 ? 1.0 : 1.6; };
  Swarm swarm(std::move(options));
  swarm.run_until(3.5);
  // t=2: rank 0 goes 1 → 0.25, a way of 0.75. t=3.2: rank 1 goes 1 → 3.25, a way of -2.25. The
  // buffer is full: 1 - 0.5 / 2 × (0.75 - 2.25) = 1.375.
  EXPECT_DOUBLE_EQ(swarm.rank(1).parameters[0], 1.375);
  swarm.run_until(4);
  // t=4: rank 0, again from 1: way 0.75, one move stale, so 0.75 / √2 is in the buffer.
  EXPECT_DOUBLE_EQ(swarm.rank(0).parameters[0], 1.375) << "fetched at 4";
  swarm.run_until(6);
  // t=6: rank 0 from 1.375: way 1.03125, fresh: the buffer is full again.
  EXPECT_DOUBLE_EQ(swarm.rank(0).parameters[0], 1.375 - 0.25 * (0.75 / std::sqrt(2.0) + 1.03125));
}

// Ranks at random speeds with random delays: clocks at work differ by the bound at most, and do.
TEST(ShardServer, BoundIsReachedAndNeverExceeded) {
  for (const std::uint64_t seed :
       seeds_to_try(40, std::getenv("WEFT_SEED"), std::getenv("WEFT_SOAK"))) {
    Random random(seed);
    const auto ranks = static_cast<std::uint32_t>(2 + random.below(6));
    const std::uint64_t bound = random.below(6);
    const Quadratics q = Quadratics::draw(ranks, 5, seed);
    SwarmOptions options = q.swarm(mode("ssp:bound=" + std::to_string(bound)));
    options.servers = static_cast<std::uint32_t>(1 + random.below(4));
    options.lr = 0.01;
    options.step_s = [&](std::uint32_t rank) {
      return (rank == 0 ? 4.0 : 1.0) * random.uniform(0.5, 1.5);
    };
    options.message_s = [&] { return random.exponential(0.1); };
    Swarm swarm(std::move(options));
    std::uint64_t most = 0;
    swarm.on_begin = [&](std::uint32_t) {
      std::uint64_t least = ~0ULL, largest = 0;
      for (std::uint32_t i = 0; i < ranks; ++i) {
        const Machine& machine = swarm.rank(i).machine;
        least = std::min(least, machine.step());
        if (!machine.waiting()) largest = std::max(largest, machine.step());
      }
      if (largest > least) most = std::max(most, largest - least);
    };
    swarm.run_steps(60);
    EXPECT_EQ(most, bound) << "WEFT_SEED=" << seed << ", " << ranks << " ranks";
  }
}

TEST(ShardServer, AspNeverWaitsAndBspAlways) {
  const Quadratics q = Quadratics::draw(4, 3, 1);
  const auto steps_of_a_fast_rank = [&](const std::string& text) {
    SwarmOptions options = q.swarm(mode(text));
    options.lr = 0.01;
    options.step_s = [](std::uint32_t rank) { return rank == 0 ? 4.0 : 1.0; };
    Swarm swarm(std::move(options));
    swarm.run_until(400);
    return swarm.rank(3).machine.step();
  };
  EXPECT_EQ(steps_of_a_fast_rank("asp"), 400U);
  EXPECT_EQ(steps_of_a_fast_rank("bsp"), 100U);
  EXPECT_EQ(steps_of_a_fast_rank("ssp:bound=3"), 103U) << "only the bound ahead, for ever";
}

TEST(ShardServer, StateReadsBackAndTakesOtherMembers) {
  ShardServer server(mode("fedbuff:buffer=5"), members(4));
  for (std::uint32_t i = 0; i < 4; ++i) ASSERT_TRUE(server.pushed(i, 1).ok());
  const auto same = ShardServer::restore(server.save(), members(4));
  ASSERT_TRUE(same.ok());
  EXPECT_EQ(*same, server);
  std::vector<Member> more = members(6);
  for (std::uint32_t i = 0; i < 4; ++i) more[i].round = 1;
  more[4].joining = more[5].joining = true;
  auto grown = ShardServer::restore(server.save(), more);
  ASSERT_TRUE(grown.ok());
  EXPECT_EQ(grown->slowest(), 1U) << "newcomers begin with the slowest";
  EXPECT_EQ((*grown->pushed(5, 2)).size(), 3U)
      << "collect, move, answer: the fifth fills the buffer";
  std::string damaged = server.save();
  damaged[damaged.find("version") + 8] = '9';
  EXPECT_THAT(ShardServer::restore(damaged, members(4)).error().what, HasSubstr("checksum"));
}

TEST(Reshard, EveryPlaceHasOneOwnerAfterwards) {
  for (std::uint32_t before = 1; before <= 7; ++before) {
    for (std::uint32_t after = 1; after <= 7; ++after) {
      for (const std::size_t size : {0UL, 3UL, 100UL, 101UL}) {
        std::vector<std::uint32_t> owner(size);
        for (std::uint32_t k = 0; k < before; ++k) {
          const Range part = part_of(size, before, k);
          for (std::size_t i = 0; i < part.size; ++i) owner[part.from + i] = k;
        }
        for (const ShardMove& move : reshard(size, before, after)) {
          for (std::size_t i = 0; i < move.places.size; ++i) {
            EXPECT_EQ(owner[move.places.from + i], move.from);
            owner[move.places.from + i] = move.to;
          }
        }
        for (std::uint32_t k = 0; k < after; ++k) {
          const Range part = part_of(size, after, k);
          for (std::size_t i = 0; i < part.size; ++i) EXPECT_EQ(owner[part.from + i], k);
        }
      }
    }
  }
}

}  // namespace
}  // namespace weft::sync
