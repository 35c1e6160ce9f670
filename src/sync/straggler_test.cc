#include "sync/straggler.h"

#include <gmock/gmock.h>

#include <cstdlib>

#include <numeric>

#include "sync/quadratic_testing.h"

namespace weft::sync {
namespace {

using testing::ElementsAre;

TEST(Ballot, ChoosesTheFirstOnceForEachStep) {
  Ballot ballot(4, 1);
  EXPECT_FALSE(ballot.ready(3, 1));
  EXPECT_FALSE(ballot.ready(3, 1)) << "said twice, counted once";
  EXPECT_FALSE(ballot.ready(0, 1));
  const auto choice = ballot.ready(2, 1);
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->step, 1U);
  EXPECT_THAT(choice->ranks, ElementsAre(0, 2, 3));
  EXPECT_FALSE(ballot.ready(1, 1)) << "late";
  EXPECT_FALSE(ballot.ready(0, 2));
  EXPECT_FALSE(ballot.ready(1, 2));
  EXPECT_TRUE(ballot.ready(2, 2));
}

// The slow rank's gradients never count: the others set the pace, and all ranks hold what one
// process with the others' data would.
TEST(Ballot, BackupWorkersLeaveTheSlowOut) {
  const Quadratics q = Quadratics::draw(4, 3, 6);
  SwarmOptions options = q.swarm(*parse_mode("bsp:backup=1"));
  options.step_s = [](std::uint32_t rank) { return rank == 1 ? 10.0 : 1.0 + 0.1 * rank; };
  Swarm swarm(std::move(options));
  swarm.run_steps(300);
  EXPECT_LT(swarm.now(), 300 * 1.3 + 10) << "the pace of the slowest of the chosen";
  EXPECT_EQ(swarm.rank(1).busy, 0) << "it never came to the end of a step";
  Quadratics rest = q;
  rest.weights[1] = 0;
  EXPECT_LT(distance(swarm.rank(1).parameters, rest.optimum()), 1e-6);
  EXPECT_EQ(distance(swarm.rank(1).parameters, swarm.rank(3).parameters), 0);
}

TEST(Ballot, RandomDelaysLeaveAllRanksEqual) {
  for (const std::uint64_t seed :
       seeds_to_try(30, std::getenv("WEFT_SEED"), std::getenv("WEFT_SOAK"))) {
    Random random(seed);
    const Quadratics q = Quadratics::draw(5, 3, seed);
    SwarmOptions options = q.swarm(*parse_mode("bsp:backup=2"));
    options.step_s = [&](std::uint32_t) { return random.exponential(1); };
    options.message_s = [&] { return random.exponential(0.2); };
    Swarm swarm(std::move(options));
    std::map<std::uint64_t, std::vector<double>> at_round;
    swarm.on_begin = [&](std::uint32_t rank) {
      const auto& r = swarm.rank(rank);
      const auto [at, fresh] = at_round.try_emplace(r.machine.round(), r.parameters);
      EXPECT_EQ(at->second, r.parameters) << "WEFT_SEED=" << seed;
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
