#include "policy/solve/share.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"

namespace weft {

std::vector<ShareNeed> max_min_needs(const ShareProblem& problem, std::span<const double> weight) {
  CHECK(weight.empty() || weight.size() == problem.jobs());
  const double devices = std::accumulate(problem.capacity.begin(), problem.capacity.end(), 0.0);
  std::vector<ShareNeed> needs(problem.jobs());
  for (std::size_t j = 0; j < problem.jobs(); ++j) {
    double equal = 0;
    for (std::size_t t = 0; t < problem.types(); ++t) {
      equal += problem.throughput[j * problem.types() + t] * problem.capacity[t] / devices;
    }
    // A job without any throughput takes no part; its need only has to be valid.
    if (equal > 0) needs[j].work = equal * (weight.empty() ? 1 : weight[j]) / problem.scale[j];
  }
  return needs;
}

std::vector<ShareNeed> finish_time_needs(std::span<const double> remaining_work,
                                         std::span<const double> elapsed_s,
                                         std::span<const double> isolated_s) {
  CHECK(remaining_work.size() == elapsed_s.size() && elapsed_s.size() == isolated_s.size());
  std::vector<ShareNeed> needs(remaining_work.size());
  for (std::size_t j = 0; j < needs.size(); ++j) {
    needs[j] = {remaining_work[j] / isolated_s[j], elapsed_s[j] / isolated_s[j]};
  }
  return needs;
}

std::vector<ShareNeed> makespan_needs(std::span<const double> remaining_work) {
  std::vector<ShareNeed> needs(remaining_work.size());
  for (std::size_t j = 0; j < needs.size(); ++j) needs[j].work = remaining_work[j];
  return needs;
}

ShareProblem as_one_type(const ShareProblem& problem, std::size_t reference) {
  CHECK(reference < problem.types());
  ShareProblem one;
  one.capacity = {std::accumulate(problem.capacity.begin(), problem.capacity.end(), 0.0)};
  one.scale = problem.scale;
  for (std::size_t j = 0; j < problem.jobs(); ++j) {
    one.throughput.push_back(problem.throughput[j * problem.types() + reference]);
  }
  return one;
}

std::vector<double> spread_over_types(std::span<const double> fraction,
                                      std::span<const double> capacity) {
  const double devices = std::accumulate(capacity.begin(), capacity.end(), 0.0);
  std::vector<double> spread;
  spread.reserve(fraction.size() * capacity.size());
  for (const double whole : fraction) {
    for (const double type : capacity) spread.push_back(whole * type / devices);
  }
  return spread;
}

std::vector<double> isolated_fractions(const ShareProblem& problem) {
  const std::size_t types = problem.types();
  std::vector<double> fraction(problem.jobs() * types);
  for (std::size_t j = 0; j < problem.jobs(); ++j) {
    double sum = 0;
    for (std::size_t t = 0; t < types; ++t) {
      fraction[j * types + t] =
          problem.capacity[t] / static_cast<double>(problem.jobs()) / problem.scale[j];
      sum += fraction[j * types + t];
    }
    for (std::size_t t = 0; t < types; ++t) fraction[j * types + t] /= std::max(1.0, sum);
  }
  return fraction;
}

}  // namespace weft
