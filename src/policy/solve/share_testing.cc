#include "policy/solve/share_testing.h"

#include <algorithm>
#include <cmath>
#include <coin/ClpSimplex.hpp>

namespace weft {
namespace {

// Columns are jobs x types, and one more that some rows use.
struct LinearProgram {
  explicit LinearProgram(const ShareProblem& problem)
      : columns(static_cast<int>(problem.jobs() * problem.types()) + 1),
        matrix(false, 0, 0),
        upper(static_cast<std::size_t>(columns), 1),
        cost(static_cast<std::size_t>(columns), 0) {
    matrix.setDimensions(0, columns);
    const std::size_t types = problem.types();
    for (std::size_t t = 0; t < types; ++t) {
      std::vector<int> index;
      for (std::size_t j = 0; j < problem.jobs(); ++j) {
        index.push_back(static_cast<int>(j * types + t));
        if (problem.scale[j] > problem.capacity[t] || problem.capacity[t] <= 0) {
          upper[j * types + t] = 0;
        }
      }
      add_row(index, problem.scale, -COIN_DBL_MAX, problem.capacity[t]);
    }
    for (std::size_t j = 0; j < problem.jobs(); ++j) {
      add_row(row_of(j, types), std::vector<double>(types, 1), -COIN_DBL_MAX, 1);
    }
  }

  static std::vector<int> row_of(std::size_t job, std::size_t types) {
    std::vector<int> index;
    for (std::size_t t = 0; t < types; ++t) index.push_back(static_cast<int>(job * types + t));
    return index;
  }

  void add_row(const std::vector<int>& index, const std::vector<double>& entry, double low,
               double high) {
    matrix.appendRow(static_cast<int>(index.size()), index.data(), entry.data());
    row_low.push_back(low);
    row_high.push_back(high);
  }

  std::optional<double> maximum() {
    ClpSimplex clp;
    clp.setLogLevel(0);
    const std::vector<double> lower(upper.size(), 0);
    clp.loadProblem(matrix, lower.data(), upper.data(), cost.data(), row_low.data(),
                    row_high.data());
    clp.setOptimizationDirection(-1);
    clp.setPrimalTolerance(1e-9);
    clp.setDualTolerance(1e-9);
    clp.initialDualSolve();
    if (!clp.isProvenOptimal()) return std::nullopt;
    return clp.objectiveValue();
  }

  int columns;
  CoinPackedMatrix matrix;
  std::vector<double> upper;
  std::vector<double> cost;
  std::vector<double> row_low;
  std::vector<double> row_high;
};

std::vector<double> rates_of(const ShareProblem& problem, std::size_t job) {
  const auto first = problem.throughput.begin() + static_cast<long>(job * problem.types());
  return {first, first + static_cast<long>(problem.types())};
}

}  // namespace

double level_by_lp(const ShareProblem& problem, std::span<const ShareNeed> needs) {
  LinearProgram program(problem);
  program.upper.back() = COIN_DBL_MAX;
  program.cost.back() = 1;
  for (std::size_t j = 0; j < problem.jobs(); ++j) {
    if (best_alone(problem, j) <= 0) continue;
    std::vector<int> index = LinearProgram::row_of(j, problem.types());
    std::vector<double> entry = rates_of(problem, j);
    index.push_back(program.columns - 1);
    entry.push_back(-needs[j].work);
    program.add_row(index, entry, 0, COIN_DBL_MAX);
  }
  return program.maximum().value();
}

std::optional<double> value_by_lp(const ShareProblem& problem, std::span<const double> value,
                                  std::span<const double> floor) {
  LinearProgram program(problem);
  std::copy(value.begin(), value.end(), program.cost.begin());
  for (std::size_t j = 0; j < floor.size(); ++j) {
    program.add_row(LinearProgram::row_of(j, problem.types()), rates_of(problem, j), floor[j],
                    COIN_DBL_MAX);
  }
  return program.maximum();
}

double throughput_of(const ShareProblem& problem, std::span<const double> fraction,
                     std::size_t job) {
  double sum = 0;
  for (std::size_t t = 0; t < problem.types(); ++t) {
    sum += fraction[job * problem.types() + t] * problem.throughput[job * problem.types() + t];
  }
  return sum;
}

double best_alone(const ShareProblem& problem, std::size_t job) {
  double best = 0;
  for (std::size_t t = 0; t < problem.types(); ++t) {
    if (problem.capacity[t] <= 0 || problem.scale[job] > problem.capacity[t]) continue;
    best = std::max(best, problem.throughput[job * problem.types() + t]);
  }
  return best;
}

double violation(const ShareProblem& problem, std::span<const double> fraction) {
  double worst = 0;
  for (std::size_t t = 0; t < problem.types(); ++t) {
    double used = 0;
    for (std::size_t j = 0; j < problem.jobs(); ++j) {
      const double part = fraction[j * problem.types() + t];
      worst = std::max(worst, -part);
      if (problem.scale[j] > problem.capacity[t]) worst = std::max(worst, part);
      used += problem.scale[j] * part;
    }
    worst = std::max(worst, used / std::max(1.0, problem.capacity[t]) -
                                problem.capacity[t] / std::max(1.0, problem.capacity[t]));
  }
  for (std::size_t j = 0; j < problem.jobs(); ++j) {
    double sum = 0;
    for (std::size_t t = 0; t < problem.types(); ++t) sum += fraction[j * problem.types() + t];
    worst = std::max(worst, sum - 1);
  }
  return worst;
}

ShareProblem random_share_problem(Random& random, ShareShape shape, std::size_t jobs,
                                  std::size_t types) {
  const double load = shape == ShareShape::kRoomy ? 4 : shape == ShareShape::kCrowded ? 0.1 : 1;
  ShareProblem problem;
  for (std::size_t t = 0; t < types; ++t) {
    const double even = static_cast<double>(jobs) / static_cast<double>(types);
    problem.capacity.push_back(std::max(1.0, std::floor(2 * load * even * random.uniform(0.1, 1))));
  }
  if (shape == ShareShape::kMissingType && types > 1) problem.capacity[0] = 0;
  for (std::size_t j = 0; j < jobs; ++j) {
    const double speed = random.uniform(0.2, 5);
    for (std::size_t t = 0; t < types; ++t) {
      double rate = speed * random.uniform(0.2, 3);
      if (shape == ShareShape::kSomeZero && random.chance(0.4)) rate = 0;
      if (shape == ShareShape::kAlike) rate = 1;
      if (shape == ShareShape::kFewSpeeds) rate = 1 + static_cast<double>(random.below(3));
      problem.throughput.push_back(rate);
    }
    const auto wide = static_cast<double>(1U << random.below(4));
    problem.scale.push_back(shape == ShareShape::kAlike || random.chance(0.5) ? 1 : wide);
  }
  return problem;
}

}  // namespace weft
