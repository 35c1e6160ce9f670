// What a share policy asks of the solver.
#include <algorithm>

#include "policy/allocators/share_round.h"

namespace weft {
namespace {

// The type on which the jobs run fastest in sum: the one that a policy which cannot tell types
// apart was profiled on.
size_t reference_type(const ShareProblem& problem) {
  std::vector<double> sum(problem.types());
  for (size_t i = 0; i < problem.throughput.size(); ++i) {
    sum[i % problem.types()] += problem.throughput[i];
  }
  return static_cast<size_t>(std::max_element(sum.begin(), sum.end()) - sum.begin());
}

}  // namespace

ShareProblem ShareRound::problem_of(const std::vector<JobId>& jobs) const {
  ShareProblem problem;
  for (TypeId type = 0; type < types(); ++type) problem.capacity.push_back(capacity(type));
  for (JobId id : jobs) {
    const Submission& spec = *state_.job(id).spec;
    const Configuration& c = spec.requested();
    problem.scale.push_back(static_cast<double>(c.devices) * c.milli / kWhole);
    for (TypeId type = 0; type < types(); ++type) {
      problem.throughput.push_back(believed_rate(state_.cluster(), spec, type));
    }
  }
  return problem;
}

ShareRound::Fractions ShareRound::solve(const std::vector<JobId>& jobs) {
  const ShareProblem problem = problem_of(jobs);
  switch (policy_.options_.pairs) {
    case TimeShareOptions::Pairs::kSolved:
      return solve_pairs(problem, jobs);
    case TimeShareOptions::Pairs::kTrial:
      return try_pairs(problem, jobs);
    case TimeShareOptions::Pairs::kNone:
      break;
  }
  const std::vector<double> fraction = solve_alone(problem, jobs);
  Fractions fractions;
  for (size_t i = 0; i < jobs.size(); ++i) {
    const auto row = fraction.begin() + static_cast<std::ptrdiff_t>(i * types());
    fractions[{jobs[i]}].assign(row, row + static_cast<std::ptrdiff_t>(types()));
  }
  return fractions;
}

std::vector<double> ShareRound::solve_alone(const ShareProblem& problem,
                                            const std::vector<JobId>& jobs) {
  using Objective = TimeShareOptions::Objective;
  const Objective objective = policy_.options_.objective;
  if (objective == Objective::kIsolated) return isolated_fractions(problem);
  const bool by_value = objective == Objective::kThroughput || objective == Objective::kCost;
  if (policy_.options_.aware) {
    if (by_value) return solve_value(problem, jobs);
    return share_water_filling(problem, needs(problem, jobs)).fraction;
  }
  const ShareProblem alike = as_one_type(problem, reference_type(problem));
  const std::vector<double> fraction =
      by_value ? solve_value(alike, jobs) : share_water_filling(alike, needs(alike, jobs)).fraction;
  return spread_over_types(fraction, problem.capacity);
}

std::vector<ShareNeed> ShareRound::needs(const ShareProblem& problem,
                                         const std::vector<JobId>& jobs) {
  std::vector<double> weight, remaining, elapsed, isolated;
  const std::vector<double> equal = isolated_fractions(problem);
  for (size_t i = 0; i < jobs.size(); ++i) {
    const JobState& job = state_.job(jobs[i]);
    weight.push_back(job.spec->weight);
    remaining.push_back(remaining_work(job, state_.now));
    elapsed.push_back(state_.now - job.submit);
    double rate = 0;
    for (size_t t = 0; t < problem.types(); ++t) {
      const size_t at = i * problem.types() + t;
      rate += equal[at] * problem.throughput[at];
    }
    // Time in isolation: of the work done so far at the equal shares of its day, and of the rest
    // at today's.
    Row& row = memory_.rows[jobs[i]];
    if (row.isolated_rate > 0) {
      row.isolated_s += std::max(0.0, row.remaining_seen - remaining.back()) / row.isolated_rate;
    }
    row.isolated_rate = rate;
    row.remaining_seen = remaining.back();
    isolated.push_back(row.isolated_s + remaining.back() / std::max(rate, 1e-12));
  }
  switch (policy_.options_.objective) {
    case TimeShareOptions::Objective::kFinishTime:
      return finish_time_needs(remaining, elapsed, isolated);
    case TimeShareOptions::Objective::kMakespan:
      return makespan_needs(remaining);
    default:
      return max_min_needs(problem, weight);
  }
}

std::vector<double> ShareRound::solve_value(const ShareProblem& problem,
                                            const std::vector<JobId>& jobs) {
  std::vector<double> value = problem.throughput;
  std::vector<double> floor;
  if (policy_.options_.objective == TimeShareOptions::Objective::kCost) {
    // Work per money: a type's price is that of its cheapest node now. Without prices every type
    // counts alike.
    std::vector<double> price(problem.types(), 0);
    for (NodeId id = 0; id < state_.cluster().nodes.size(); ++id) {
      const size_t type = problem.types() == 1 ? 0 : state_.cluster().nodes[id].type;
      const double now = state_.cluster().price_per_hour(id, state_.now);
      if (now > 0) price[type] = price[type] > 0 ? std::min(price[type], now) : now;
    }
    for (size_t i = 0; i < value.size(); ++i) {
      const double each = price[i % problem.types()];
      const double money = problem.scale[i / problem.types()] * (each > 0 ? each : 1.0);
      value[i] /= money;
    }
  }
  if (policy_.options_.deadlines) {
    for (JobId id : jobs) {
      const JobState& job = state_.job(id);
      const Seconds left = job.spec->deadline - state_.now;
      floor.push_back(left < kNever && left > 0 ? remaining_work(job, state_.now) / left : 0);
    }
  }
  return share_max_value(problem, value, floor).fraction;
}

}  // namespace weft
