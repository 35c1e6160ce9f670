#include "sync/mixing.h"

#include <gmock/gmock.h>

#include <cmath>
#include <numbers>

#include "sync/quadratic_testing.h"

namespace weft::sync {
namespace {

constexpr Graph kGraphs[] = {Graph::kRing, Graph::kExponential, Graph::kOnePeer};

TEST(Mixing, MatricesAreDoublyStochastic) {
  for (const Graph graph : kGraphs) {
    for (std::uint32_t ranks = 1; ranks <= 33; ++ranks) {
      for (std::uint64_t round = 0; round < 6; ++round) {
        const auto matrix = mixing_matrix(graph, ranks, round);
        for (std::uint32_t i = 0; i < ranks; ++i) {
          double row = 0, column = 0;
          for (std::uint32_t j = 0; j < ranks; ++j) {
            row += matrix[i][j], column += matrix[j][i];
            EXPECT_GE(matrix[i][j], 0);
          }
          EXPECT_NEAR(row, 1, 1e-15);
          EXPECT_NEAR(column, 1, 1e-15);
        }
      }
    }
  }
}

TEST(Mixing, GapsOfKnownGraphs) {
  const auto gap = [](Graph graph, std::uint32_t ranks) {
    return spectral_gap(mixing_row(graph, ranks, 0), ranks);
  };
  EXPECT_DOUBLE_EQ(gap(Graph::kRing, 1), 1);
  EXPECT_NEAR(gap(Graph::kRing, 2), 1, 1e-15) << "half and half";
  EXPECT_NEAR(gap(Graph::kRing, 3), 1, 1e-15) << "thirds of all";
  EXPECT_NEAR(gap(Graph::kRing, 16), 1 - (1 + 2 * std::cos(std::numbers::pi / 8)) / 3, 1e-15);
  // 2 / (1 + ⌈log2 n⌉) for even n (Ying et al. 2021, on the static exponential graph).
  for (const std::uint32_t ranks : {4U, 8U, 16U, 32U, 64U, 100U}) {
    EXPECT_NEAR(gap(Graph::kExponential, ranks), 2 / (1 + std::ceil(std::log2(ranks))), 1e-12)
        << ranks;
  }
}

TEST(Mixing, GapMatchesTheMatrixOnRandomVectors) {
  Random random(7);
  for (const Graph graph : kGraphs) {
    for (const std::uint32_t ranks : {5U, 8U, 13U}) {
      const auto matrix = mixing_matrix(graph, ranks, 1);
      const double factor = 1 - spectral_gap(mixing_row(graph, ranks, 1), ranks);
      std::vector<double> x(ranks), y(ranks);
      double mean = 0, before = 0, after = 0;
      for (double& value : x) mean += (value = random.normal()) / ranks;
      for (double& value : x) value -= mean, before += value * value;
      for (std::uint32_t i = 0; i < ranks; ++i) {
        for (std::uint32_t j = 0; j < ranks; ++j) y[i] += matrix[i][j] * x[j];
        after += y[i] * y[i];
      }
      EXPECT_LE(std::sqrt(after), factor * std::sqrt(before) + 1e-12);
    }
  }
}

double disagreement(Swarm& swarm, std::uint32_t ranks) {
  double mean = 0, sum = 0;
  for (std::uint32_t i = 0; i < ranks; ++i) mean += swarm.rank(i).parameters[0] / ranks;
  for (std::uint32_t i = 0; i < ranks; ++i) sum += std::pow(swarm.rank(i).parameters[0] - mean, 2);
  return std::sqrt(sum);
}

// Ranks that take no steps of their own agree at the rate of the gap, exactly so along the slowest
// wave; the mean stays.
TEST(Mixing, GossipAgreesAtTheRateOfTheGap) {
  constexpr std::uint32_t kRanks = 12;
  Quadratics q = Quadratics::draw(kRanks, 1, 1);
  SwarmOptions options = q.swarm(*parse_mode("gossip:graph=ring"));
  options.lr = 0;
  Random random(3);
  options.step_s = [&random](std::uint32_t) { return random.uniform(0.1, 3); };
  options.message_s = [&random] { return random.exponential(0.5); };
  Swarm swarm(std::move(options));
  for (std::uint32_t i = 0; i < kRanks; ++i) {
    swarm.rank(i).parameters[0] = 5 + std::cos(2 * std::numbers::pi * i / kRanks);
  }
  const double before = disagreement(swarm, kRanks);
  // The first rank to finish 50 rounds must not mix a 51st time before the last has 50.
  for (std::uint32_t i = 0; i < kRanks; ++i) {
    while (swarm.rank(i).machine.round() < 50) ASSERT_TRUE(swarm.turn());
  }
  const double factor = 1 - spectral_gap(mixing_row(Graph::kRing, kRanks, 0), kRanks);
  // Ranks may be some rounds apart, and each round shrinks the wave by the same factor.
  const double rate = std::log(disagreement(swarm, kRanks) / before) / std::log(factor);
  EXPECT_GE(rate, 50 - 1e-6);
  EXPECT_LE(rate, 56);
  EXPECT_NEAR(swarm.rank(0).parameters[0], 5, 1e-2);
}

TEST(Mixing, OnePeerAgreesExactlyAfterLogRounds) {
  const Quadratics q = Quadratics::draw(8, 1, 1);
  SwarmOptions options = q.swarm(*parse_mode("gossip:graph=one-peer"));
  options.lr = 0;
  Swarm swarm(std::move(options));
  for (std::uint32_t i = 0; i < 8; ++i) swarm.rank(i).parameters[0] = i;
  swarm.run_rounds(3);
  for (std::uint32_t i = 0; i < 8; ++i) EXPECT_DOUBLE_EQ(swarm.rank(i).parameters[0], 3.5);
}

TEST(Mixing, GossipTrainsNearTheOptimum) {
  const Quadratics q = [] {
    Quadratics same = Quadratics::draw(8, 3, 4);
    same.weights.assign(8, 1.0 / 8);  // gossip weighs all ranks alike
    return same;
  }();
  for (const char* text :
       {"gossip", "gossip:graph=exponential", "gossip:graph=one-peer,period=2"}) {
    SwarmOptions options = q.swarm(*parse_mode(text));
    options.lr = 0.002;
    Swarm swarm(std::move(options));
    swarm.run_steps(6000);
    EXPECT_LT(distance(swarm.rank(5).parameters, q.optimum()), 0.1) << text;
  }
}

}  // namespace
}  // namespace weft::sync
