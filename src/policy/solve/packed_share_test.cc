#include "policy/solve/packed_share.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <coin/ClpSimplex.hpp>

#include "policy/solve/share_testing.h"

namespace weft {
namespace {

// Throughput of every job over its shares, and how far they break time or capacity.
struct Audit {
  std::vector<double> throughput;
  double violation = 0;
};

Audit audit(const PackedProblem& problem, const PackedResult& result) {
  const ShareProblem& alone = problem.alone;
  const std::size_t types = alone.types();
  std::vector<double> time(alone.jobs()), devices(types);
  Audit out;
  out.throughput.assign(alone.jobs(), 0);
  const auto run = [&](std::size_t job, std::size_t t, double fraction, double speed) {
    time[job] += fraction;
    out.throughput[job] += alone.throughput[job * types + t] * fraction * speed;
    out.violation = std::max(out.violation, -fraction);
    if (fraction > 0 && alone.scale[job] > alone.capacity[t]) out.violation = 1;
  };
  for (std::size_t j = 0; j < alone.jobs(); ++j) {
    for (std::size_t t = 0; t < types; ++t) {
      run(j, t, result.fraction[j * types + t], 1);
      devices[t] += alone.scale[j] * result.fraction[j * types + t];
    }
  }
  for (const PairShare& pair : result.pairs) {
    EXPECT_LT(pair.first, pair.second);
    EXPECT_EQ(alone.scale[pair.first], alone.scale[pair.second]);
    const int a = problem.model[pair.first], b = problem.model[pair.second];
    for (std::size_t t = 0; t < types; ++t) {
      if (pair.fraction[t] <= 0) continue;
      EXPECT_GT(problem.speed_of(t, a, b), 0) << "a pair that may not be";
      run(pair.first, t, pair.fraction[t], problem.speed_of(t, a, b));
      run(pair.second, t, pair.fraction[t], problem.speed_of(t, b, a));
      devices[t] += alone.scale[pair.first] * pair.fraction[t];
    }
  }
  for (const double t : time) out.violation = std::max(out.violation, t - 1);
  for (std::size_t t = 0; t < types; ++t) {
    out.violation =
        std::max(out.violation, devices[t] / std::max(1.0, alone.capacity[t]) -
                                    alone.capacity[t] / std::max(1.0, alone.capacity[t]));
  }
  return out;
}

double lowest_packed_level(const PackedProblem& problem, std::span<const ShareNeed> needs,
                           const Audit& got) {
  double lowest = COIN_DBL_MAX;
  for (std::size_t j = 0; j < problem.alone.jobs(); ++j) {
    if (best_alone(problem.alone, j) <= 0) continue;
    lowest = std::min(lowest, got.throughput[j] / needs[j].work);
  }
  return lowest;
}

// The whole program over jobs and all pairs of jobs, as Gavel writes it, for CLP.
double packed_level_by_lp(const PackedProblem& problem, std::span<const ShareNeed> needs) {
  const ShareProblem& alone = problem.alone;
  const auto jobs = static_cast<int>(alone.jobs()), types = static_cast<int>(alone.types());
  CoinPackedMatrix matrix(true, 0, 0);
  matrix.setDimensions(2 * jobs + types, 0);
  const auto at = [](int i) { return static_cast<std::size_t>(i); };
  const auto rate = [&](int j, int t) { return alone.throughput[at(j * types + t)]; };
  const auto fits = [&](int j, int t) {
    return alone.capacity[at(t)] > 0 && alone.scale[at(j)] <= alone.capacity[at(t)];
  };
  for (int t = 0; t < types; ++t) {
    for (int j = 0; j < jobs; ++j) {
      if (!fits(j, t)) continue;
      const int rows[] = {j, jobs + j, 2 * jobs + t};
      const double entries[] = {1, rate(j, t), alone.scale[at(j)]};
      matrix.appendCol(3, rows, entries);
      for (int k = j + 1; k < jobs; ++k) {
        const int a = problem.model[at(j)], b = problem.model[at(k)];
        if (a < 0 || b < 0 || alone.scale[at(j)] != alone.scale[at(k)]) continue;
        const double one = problem.speed_of(at(t), a, b), two = problem.speed_of(at(t), b, a);
        if (one <= 0 || two <= 0 || rate(j, t) <= 0 || rate(k, t) <= 0) continue;
        const int both[] = {j, k, jobs + j, jobs + k, 2 * jobs + t};
        const double values[] = {1, 1, one * rate(j, t), two * rate(k, t), alone.scale[at(j)]};
        matrix.appendCol(5, both, values);
      }
    }
  }
  std::vector<int> rows;
  std::vector<double> entries;
  std::vector<double> low(at(2 * jobs + types), -COIN_DBL_MAX), high(at(2 * jobs + types), 1);
  for (int j = 0; j < jobs; ++j) {
    low[at(jobs + j)] = best_alone(alone, at(j)) > 0 ? 0 : -COIN_DBL_MAX;
    high[at(jobs + j)] = COIN_DBL_MAX;
    if (best_alone(alone, at(j)) <= 0) continue;
    rows.push_back(jobs + j);
    entries.push_back(-needs[at(j)].work);
  }
  for (int t = 0; t < types; ++t) high[at(2 * jobs + t)] = alone.capacity[at(t)];
  matrix.appendCol(static_cast<int>(rows.size()), rows.data(), entries.data());
  std::vector<double> cost(at(matrix.getNumCols()), 0);
  cost.back() = 1;
  ClpSimplex clp;
  clp.setLogLevel(0);
  clp.loadProblem(matrix, nullptr, nullptr, cost.data(), low.data(), high.data());
  clp.setOptimizationDirection(-1);
  clp.initialDualSolve();
  EXPECT_TRUE(clp.isProvenOptimal());
  return clp.objectiveValue();
}

PackedProblem random_packed(Random& random, ShareShape shape, std::size_t jobs) {
  PackedProblem problem;
  problem.alone = random_share_problem(random, shape, jobs, 1 + random.below(3));
  problem.models = 1 + random.below(6);
  const std::size_t types = problem.alone.types();
  std::vector<double> rates;
  for (std::size_t i = 0; i < problem.models * types; ++i) rates.push_back(random.uniform(0.5, 4));
  const bool alike = random.chance(0.5);  // jobs of a model run alike
  for (std::size_t j = 0; j < jobs; ++j) {
    const auto model = random.below(problem.models);
    problem.model.push_back(random.chance(0.1) ? -1 : static_cast<int>(model));
    if (!alike) continue;
    for (std::size_t t = 0; t < types; ++t) {
      problem.alone.throughput[j * types + t] = rates[model * types + t];
    }
  }
  problem.speed.assign(types * problem.models * problem.models, 0);
  for (std::size_t t = 0; t < types; ++t) {
    for (std::size_t a = 0; a < problem.models; ++a) {
      for (std::size_t b = a; b < problem.models; ++b) {
        if (random.chance(0.3)) continue;
        const double one = random.uniform(0.3, 1), two = a == b ? one : random.uniform(0.3, 1);
        problem.speed[(t * problem.models + a) * problem.models + b] = one;
        problem.speed[(t * problem.models + b) * problem.models + a] = two;
      }
    }
  }
  return problem;
}

TEST(SharePacked, TwoJobsThatLoseNothingHaveOneDeviceBoth) {
  const PackedProblem problem{{{1}, {1, 1}, {1, 1}}, {0, 0}, 1, {1}};
  const PackedResult got = share_packed(problem, std::vector<ShareNeed>(2));
  EXPECT_NEAR(got.level, 1, 1e-9);
  ASSERT_EQ(got.pairs.size(), 1u);
  EXPECT_NEAR(got.pairs[0].fraction[0], 1, 1e-9);
}

// Each runs at 0.4 beside the other: taking turns gives each 0.5.
TEST(SharePacked, APairThatLosesTakesTurns) {
  const PackedProblem problem{{{1}, {1, 1}, {1, 1}}, {0, 0}, 1, {0.4}};
  const PackedResult got = share_packed(problem, std::vector<ShareNeed>(2));
  EXPECT_NEAR(got.level, 0.5, 1e-9);
  EXPECT_TRUE(got.pairs.empty());
}

// Three jobs, pairs at 0.8: each of the three pairs has a third of the device, so a job runs for
// two thirds of the time at 0.8.
TEST(SharePacked, AnOddJobTakesPartInTwoPairs) {
  const PackedProblem problem{{{1}, {1, 1, 1}, {1, 1, 1}}, {0, 0, 0}, 1, {0.8}};
  const PackedResult got = share_packed(problem, std::vector<ShareNeed>(3));
  EXPECT_NEAR(got.level, 1.6 / 3, 1e-9);
  EXPECT_EQ(got.pairs.size(), 3u);
}

// a and b can use the first type only, c the second only: c is not held to their level.
TEST(SharePacked, WhoeverIsNotStoppedIsRaisedFurther) {
  const PackedProblem problem{{{1, 1}, {1, 1, 1}, {1, 0, 1, 0, 0, 1}}, {0, 0, 0}, 1, {0.6, 0}};
  const PackedResult got = share_packed(problem, std::vector<ShareNeed>(3));
  const Audit sums = audit(problem, got);
  EXPECT_NEAR(got.level, 0.6, 1e-9);
  EXPECT_NEAR(sums.throughput[2], 1, 1e-9);
}

TEST(SharePacked, EqualsTheLinearProgramOnRandomProblems) {
  for (std::uint64_t seed = 1; seed <= 350; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const ShareShape shape = kShareShapes[seed % std::size(kShareShapes)];
    const PackedProblem problem = random_packed(random, shape, 1 + random.below(24));
    const std::vector<ShareNeed> needs = max_min_needs(problem.alone, {});
    const PackedResult got = share_packed(problem, needs);
    const Audit sums = audit(problem, got);
    EXPECT_LE(sums.violation, 1e-9);
    const double lowest = lowest_packed_level(problem, needs, sums);
    if (lowest == COIN_DBL_MAX) continue;  // nobody can run
    const double want = packed_level_by_lp(problem, needs);
    EXPECT_NEAR(got.level / want, 1, 1e-6);
    EXPECT_NEAR(lowest / want, 1, 1e-6);
    EXPECT_GE(got.bound, want * (1 - 1e-7));
    EXPECT_LE(got.bound - got.level, 1e-6 * got.bound);
    // Pairs can only help, and never more than double anything.
    const double apart = share_water_filling(problem.alone, needs).level;
    EXPECT_GE(got.level, apart * (1 - 1e-6));
    EXPECT_LE(got.level, 2 * apart * (1 + 1e-6));
  }
}

// More kinds of jobs than the program takes: nobody shares, and the bound says so.
TEST(SharePacked, VeryManyKindsDoNotShare) {
  Random random(9);
  PackedProblem problem;
  problem.alone = random_share_problem(random, ShareShape::kPlain, 500, 2);
  problem.model.assign(500, 0);
  problem.models = 1;
  problem.speed = {1, 1};
  const std::vector<ShareNeed> needs = max_min_needs(problem.alone, {});
  const PackedResult got = share_packed(problem, needs);
  EXPECT_TRUE(got.pairs.empty());
  EXPECT_LE(audit(problem, got).violation, 1e-9);
  EXPECT_NEAR(got.level, share_water_filling(problem.alone, needs).level, 1e-9);
  EXPECT_GE(got.bound, 2 * got.level * (1 - 1e-9));
}

}  // namespace
}  // namespace weft
