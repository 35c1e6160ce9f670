// Every objective of the share solvers is the best of all at what it is named after, on the same
// jobs at the same moment.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "policy/solve/share.h"
#include "policy/solve/share_testing.h"

namespace weft {
namespace {

struct Moment {
  ShareProblem problem;
  std::vector<double> remaining, elapsed, isolated, money;
};

Moment random_moment(Random& random, ShareShape shape) {
  Moment m;
  const size_t jobs = 2 + random.below(30), types = 1 + random.below(4);
  m.problem = random_share_problem(random, shape, jobs, types);
  const std::vector<double> equal = isolated_fractions(m.problem);
  std::vector<double> price;
  for (size_t t = 0; t < types; ++t) price.push_back(random.uniform(0.5, 5));
  for (size_t i = 0; i < jobs; ++i) {
    m.remaining.push_back(std::pow(10, random.uniform(1, 5)));
    m.elapsed.push_back(random.chance(0.3) ? 0 : random.uniform(0, 1e5));
    const double rate = std::max(throughput_of(m.problem, equal, i), 1e-6);
    m.isolated.push_back(m.remaining[i] / rate + random.uniform(0, 1e4));
    for (size_t t = 0; t < types; ++t) {
      m.money.push_back(m.problem.throughput[i * types + t] / (price[t] * m.problem.scale[i]));
    }
  }
  return m;
}

using Fractions = std::vector<double>;

double summed(const Fractions& fraction, const std::vector<double>& value) {
  double sum = 0;
  for (size_t i = 0; i < value.size(); ++i) sum += fraction[i] * value[i];
  return sum;
}

// The last end, or the worst ratio of finish times, of those that can run at all.
double worst(const Moment& m, const Fractions& fraction, bool finish_time) {
  double most = 0;
  for (size_t i = 0; i < m.remaining.size(); ++i) {
    if (best_alone(m.problem, i) <= 0) continue;
    const double takes = m.remaining[i] / std::max(throughput_of(m.problem, fraction, i), 1e-300);
    most = std::max(most, finish_time ? (m.elapsed[i] + takes) / m.isolated[i] : takes);
  }
  return most;
}

TEST(ShareObjectives, EachIsBestAtWhatItIsNamedAfter) {
  long differs = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Moment m = random_moment(random, kShareShapes[seed % std::size(kShareShapes)]);
    const auto filled = [&](const std::vector<ShareNeed>& needs) {
      return share_water_filling(m.problem, needs).fraction;
    };
    const Fractions max_min = filled(max_min_needs(m.problem, {}));
    const Fractions fair = filled(finish_time_needs(m.remaining, m.elapsed, m.isolated));
    const Fractions makespan = filled(makespan_needs(m.remaining));
    const Fractions quick = share_max_value(m.problem, m.problem.throughput, {}).fraction;
    const Fractions cheap = share_max_value(m.problem, m.money, {}).fraction;
    const double few = 1 + 1e-5;
    for (const Fractions& other : {max_min, fair, makespan, quick, cheap}) {
      EXPECT_GE(summed(quick, m.problem.throughput) * few, summed(other, m.problem.throughput));
      EXPECT_GE(summed(cheap, m.money) * few, summed(other, m.money));
      EXPECT_LE(worst(m, makespan, false), worst(m, other, false) * few);
      EXPECT_LE(worst(m, fair, true), worst(m, other, true) * few);
      differs += summed(other, m.money) < 0.99 * summed(cheap, m.money);
    }
  }
  EXPECT_GT(differs, 300) << "the objectives hardly differ here";
}

// Deadlines cost money, and are kept whenever they can be.
TEST(ShareObjectives, DeadlinesAreKeptAtTheLeastLoss) {
  long met = 0, unmet = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Moment m = random_moment(random, kShareShapes[seed % std::size(kShareShapes)]);
    const Fractions possible = share_water_filling(m.problem, makespan_needs(m.remaining)).fraction;
    std::vector<double> floor;
    // What the shares of another objective reach can be asked for; a little more than all cannot.
    const double factor = seed % 4 == 0 ? 1.5 : random.uniform(0.2, 0.99);
    for (size_t i = 0; i < m.remaining.size(); ++i) {
      floor.push_back(factor * throughput_of(m.problem, possible, i));
    }
    const ShareValueResult kept = share_max_value(m.problem, m.money, floor);
    const ShareValueResult free = share_max_value(m.problem, m.money, {});
    EXPECT_LE(kept.value, free.value * (1 + 1e-6) + 1e-12);
    if (factor < 1) {
      EXPECT_TRUE(kept.floors_met);
    }
    (kept.floors_met ? met : unmet) += 1;
    for (size_t i = 0; kept.floors_met && i < floor.size(); ++i) {
      EXPECT_GE(throughput_of(m.problem, kept.fraction, i), floor[i] * (1 - 1e-6));
    }
  }
  EXPECT_GT(met, 200);
  EXPECT_GT(unmet, 10);
}

}  // namespace
}  // namespace weft
