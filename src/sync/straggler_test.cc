#include "sync/straggler.h"

#include <gmock/gmock.h>

#include <cstdlib>

#include <numeric>

#include "sync/quadratic_testing.h"

namespace weft::sync {
namespace {

using testing::ElementsAre;

TEST(Ballot, ChoosesTheFirstOnceForEachUpdate) {
  using Choice = Ballot::Choice;
  Ballot ballot(4, 1);
  EXPECT_FALSE(ballot.ready(3, 1));
  EXPECT_FALSE(ballot.ready(3, 1)) << "said twice, counted once";
  EXPECT_FALSE(ballot.ready(0, 1));
  EXPECT_EQ(ballot.ready(2, 1), (Choice{1, 1, {0, 2, 3}, false}));
  EXPECT_EQ(ballot.ready(1, 1), (Choice{2, 1, {1}, true})) << "a little late: goes on from there";
  EXPECT_FALSE(ballot.ready(0, 2));
  EXPECT_FALSE(ballot.ready(1, 2)) << "it counts again";
  EXPECT_EQ(ballot.ready(2, 2), (Choice{3, 2, {0, 1, 2}, false}));
  for (const std::uint32_t rank : {0U, 1U, 2U}) ballot.ready(rank, 3);
  EXPECT_EQ(ballot.ready(3, 2), (Choice{5, 3, {3}, true})) << "far behind: the newest";
}

TEST(Ballot, WhenTooFewAreLeftNoUpdateIsMade) {
  using Choice = Ballot::Choice;
  Ballot ballot(4, 2, 7);
  EXPECT_FALSE(ballot.ends(0));
  EXPECT_FALSE(ballot.ready(1, 8));
  EXPECT_FALSE(ballot.ends(2)) << "two are left, and two are enough";
  EXPECT_EQ(ballot.ends(3), (Choice{1, 7, {1}, true})) << "its step is dropped";
  EXPECT_EQ(ballot.ready(1, 8), (Choice{2, 7, {1}, true}));
  EXPECT_FALSE(ballot.ends(1));
}

TEST(Ballot, NobodyWaitsForThoseWhoWaitAtAMeeting) {
  using Choice = Ballot::Choice;
  Ballot ballot(3, 1);
  EXPECT_FALSE(ballot.ready(0, 1));
  EXPECT_FALSE(ballot.meets(1)) << "rank 2 may still come";
  EXPECT_EQ(ballot.meets(2), (Choice{1, 0, {0}, true})) << "both wait at the meeting";
  EXPECT_EQ(ballot.ready(0, 1), (Choice{2, 0, {0}, true})) << "and goes there step by step";
  EXPECT_FALSE(ballot.meets(0));
  EXPECT_FALSE(ballot.ready(1, 1)) << "all have met: the others will come again";
  EXPECT_EQ(ballot.ready(0, 1), (Choice{3, 1, {0, 1}, false}));
}

// The slow rank's steps never count: the others set the pace, and all ranks hold what one process
// with the others' data would.
TEST(Ballot, BackupWorkersLeaveTheSlowOut) {
  const Quadratics q = Quadratics::draw(4, 3, 6);
  SwarmOptions options = q.swarm(*parse_mode("bsp:backup=1"));
  options.step_s = [](std::uint32_t rank) { return rank == 1 ? 10.0 : 1.0 + 0.1 * rank; };
  options.servers = 2;
  Swarm swarm(std::move(options));
  swarm.run_rounds(300);
  EXPECT_LE(swarm.now(), 300 * 1.3 + 10 + 1e-9) << "the pace of the slowest of the chosen";
  EXPECT_EQ(swarm.counted(1), 0U) << "whenever it came to the end of a step it was late";
  Quadratics rest = q;
  rest.weights[1] = 0;
  EXPECT_LT(distance(swarm.rank(1).parameters, rest.optimum()), 1e-6);
  EXPECT_EQ(distance(swarm.rank(1).parameters, swarm.rank(3).parameters), 0);
}

// Four ranks, the fourth four times as slow, beside as many that are even: the others keep their
// pace, and an update is what one process makes of the gradients that were chosen, at one point.
TEST(Ballot, AnUpdateIsTheMeanOfTheChosenGradients) {
  const Quadratics q = Quadratics::draw(4, 3, 9);
  for (const double slowness : {1.0, 4.0}) {
    SwarmOptions options = q.swarm(*parse_mode("bsp:backup=1"));
    options.step_s = [&](std::uint32_t rank) { return rank == 3 ? slowness : 1; };
    Swarm swarm(std::move(options));
    std::vector<double> at(3, 1.0), own(3);
    std::uint64_t updates = 0;
    swarm.on_choice = [&](const Ballot::Choice& choice) {
      if (choice.late) return;
      ++updates;
      EXPECT_EQ(choice.ranks.size(), 3U);
      std::vector<double> mean(3);
      double total = 0;
      for (const std::uint32_t rank : choice.ranks) {
        q.gradient(rank, at, own);
        for (std::size_t d = 0; d < 3; ++d) mean[d] += q.weights[rank] * own[d];
        total += q.weights[rank];
      }
      for (std::size_t d = 0; d < 3; ++d) at[d] -= 0.1 * mean[d] / total;
    };
    swarm.run_until(100.5);
    EXPECT_EQ(updates, 100U) << "one a second, however slow the fourth is";
    EXPECT_LT(distance(swarm.rank(0).parameters, at), 1e-12);
  }
}

TEST(Ballot, RandomDelaysLeaveAllRanksEqual) {
  for (const std::uint64_t seed :
       seeds_to_try(30, std::getenv("WEFT_SEED"), std::getenv("WEFT_SOAK"))) {
    Random random(seed);
    const Quadratics q = Quadratics::draw(5, 3, seed);
    SwarmOptions options = q.swarm(*parse_mode("bsp:backup=2"));
    options.step_s = [&](std::uint32_t) { return random.exponential(1); };
    options.message_s = [&] { return random.exponential(0.2); };
    options.servers = 3;
    Swarm swarm(std::move(options));
    std::map<std::uint64_t, std::vector<double>> at_round;
    swarm.on_begin = [&](std::uint32_t rank) {
      const auto& r = swarm.rank(rank);
      const auto [at, fresh] = at_round.try_emplace(r.machine.round(), r.parameters);
      EXPECT_EQ(at->second, r.parameters) << "WEFT_SEED=" << seed;
    };
    swarm.on_choice = [&](const Ballot::Choice& choice) {
      EXPECT_EQ(choice.ranks.size(), choice.late ? 1U : 3U) << "WEFT_SEED=" << seed;
    };
    swarm.run_steps(60);
  }
}

TEST(BalanceBatch, FollowsSpeedsAndAddsUp) {
  const auto shares = [](std::vector<double> speeds, std::uint32_t batch, std::uint32_t least = 1) {
    return balance_batch(speeds, batch, least);
  };
  EXPECT_THAT(shares({1, 1, 1, 1}, 64), ElementsAre(16, 16, 16, 16));
  EXPECT_THAT(shares({4, 4, 4, 1}, 130), ElementsAre(40, 40, 40, 10));
  EXPECT_THAT(shares({1, 1, 1}, 10), ElementsAre(4, 3, 3)) << "ties go to the lower rank";
  EXPECT_THAT(shares({1000, 1}, 10), ElementsAre(9, 1)) << "nobody is left without";
  EXPECT_THAT(shares({1000, 1}, 10, 0), ElementsAre(10, 0));
  EXPECT_THAT(shares({2, 0, 2}, 9), ElementsAre(3, 3, 3)) << "not measured yet: as the slowest";
  EXPECT_THAT(shares({0, std::nan(""), -1}, 9), ElementsAre(3, 3, 3));
  for (const std::uint64_t seed :
       seeds_to_try(200, std::getenv("WEFT_SEED"), std::getenv("WEFT_SOAK"))) {
    Random random(seed);
    std::vector<double> speeds(1 + random.below(20));
    for (double& speed : speeds) speed = random.log_normal(0, 2);
    const auto batch = static_cast<std::uint32_t>(speeds.size() + random.below(5000));
    const auto result = balance_batch(speeds, batch);
    EXPECT_EQ(std::accumulate(result.begin(), result.end(), 0U), batch) << "WEFT_SEED=" << seed;
    EXPECT_GE(*std::min_element(result.begin(), result.end()), 1U);
  }
}

// Least squares on a batch: however it is shared, weights equal to the shares give its gradient.
TEST(BalanceBatch, GradientIsThatOfTheWholeBatch) {
  Random random(3);
  constexpr std::uint32_t kBatch = 96, kDimensions = 5;
  std::vector<std::vector<double>> x(kBatch, std::vector<double>(kDimensions));
  std::vector<double> y(kBatch);
  for (std::uint32_t i = 0; i < kBatch; ++i) {
    for (double& value : x[i]) value = random.normal();
    y[i] = random.normal();
  }
  const auto trained = [&](const std::vector<std::uint32_t>& shares) {
    SwarmOptions options;
    options.mode = *parse_mode("bsp");
    options.start.assign(kDimensions, 0.5);
    std::vector<std::uint32_t> first = {0};
    for (std::uint32_t i = 0; i < shares.size(); ++i) {
      options.members.push_back({i, static_cast<double>(shares[i])});
      first.push_back(first.back() + shares[i]);
    }
    options.gradient = [&](std::uint32_t rank, std::span<const double> at, std::span<double> out) {
      std::fill(out.begin(), out.end(), 0.0);
      for (std::uint32_t i = first[rank]; i < first[rank + 1]; ++i) {
        double error = -y[i];
        for (std::uint32_t d = 0; d < kDimensions; ++d) error += x[i][d] * at[d];
        for (std::uint32_t d = 0; d < kDimensions; ++d) out[d] += error * x[i][d] / shares[rank];
      }
    };
    Swarm swarm(std::move(options));
    swarm.run_steps(20);
    return swarm.rank(0).parameters;
  };
  const std::vector<double> speeds = {4, 1, 2.5};
  EXPECT_LT(distance(trained(balance_batch(speeds, kBatch)), trained({32, 32, 32})), 1e-13);
}

}  // namespace
}  // namespace weft::sync
