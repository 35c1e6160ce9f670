#include "planner/goodput/elastic.h"

#include <algorithm>
#include <cmath>

namespace weft::planner {
namespace {

double log_choose(double n, double k) {
  return std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1);
}

double binomial(int n, int k, double p) {
  if (p <= 0) return k == 0 ? 1 : 0;
  if (p >= 1) return k == n ? 1 : 0;
  return std::exp(log_choose(n, k) + k * std::log(p) + (n - k) * std::log1p(-p));
}

int empty_in_stage(const GoodputCase& c, const std::vector<bool>& empty, int stage) {
  int count = 0;
  for (int p = 0; p < c.pipelines(); ++p) {
    count += empty[static_cast<std::size_t>(p * c.stages + stage)] ? 1 : 0;
  }
  return count;
}

// One step takes micro_batches + stages - 1 slots. The replicas of a stage that lacks `gone` of its
// nodes run the micro-batches of all; what fits in their idle slots costs nothing.
double rerouted_speed(const GoodputCase& c, int gone) {
  const int replicas = c.pipelines();
  if (gone >= replicas) return 0;
  const double slots = c.micro_batches + c.stages - 1;
  const double work = c.micro_batches * static_cast<double>(replicas) / (replicas - gone);
  return slots / std::max(slots, work);
}

// Probability that no stage lacks more than `most` when `missing` places are empty: the coefficient
// of z^missing in (sum over i <= most of C(replicas, i) z^i)^stages, over C(nodes, missing), with
// binomial weights in place of the huge numbers.
double none_above(const GoodputCase& c, int missing, int most) {
  const double p = static_cast<double>(missing) / c.nodes;
  std::vector<double> sum(static_cast<std::size_t>(missing) + 1);
  sum[0] = 1;
  for (int stage = 0; stage < c.stages; ++stage) {
    std::vector<double> next(sum.size());
    for (int i = 0; i <= std::min({most, missing, c.pipelines()}); ++i) {
      const double weight = binomial(c.pipelines(), i, p);
      for (std::size_t k = static_cast<std::size_t>(i); k < sum.size(); ++k) {
        next[k] += weight * sum[k - static_cast<std::size_t>(i)];
      }
    }
    sum = std::move(next);
  }
  return std::min(1.0, sum.back() / binomial(c.nodes, missing, p));
}

// The shadow runs two stages, so every slot of the pipeline takes twice as long but for the ramp.
double redundant_speed(const GoodputCase& c, bool whole) {
  const double slots = c.micro_batches + c.stages - 1;
  const double slow = whole ? 1 : slots / (slots + c.micro_batches);
  return slow / (1 + c.redundancy);
}

double template_speed(const GoodputCase& c, int missing) {
  const int least = c.least_nodes > 0 ? c.least_nodes : c.stages;
  const int left = c.nodes - missing;
  return left < least ? 0 : static_cast<double>(left) / c.nodes;
}

}  // namespace

Shortage shortage_of(const GoodputCase& c) {
  Shortage out;
  double weight = 1, sum = 0;
  for (int away = 0; away <= c.nodes + c.spares; ++away) {
    out.away.push_back(weight);
    sum += weight;
    const int in_use = std::min(c.nodes, c.nodes + c.spares - away);
    weight *= in_use / c.node_mtbf_s * c.repair_s / (away + 1);
    if (weight < 1e-13 * sum && away >= c.spares) break;
    if (sum > 1e200) {  // rescaled; only the ratios matter
      for (double& one : out.away) one /= sum;
      weight /= sum;
      sum = 1;
    }
  }
  for (double& one : out.away) one /= sum;
  return out;
}

double elastic_speed(const GoodputCase& c, Recovery policy, int missing) {
  if (policy == Recovery::kTemplates) return template_speed(c, missing);
  if (policy == Recovery::kRedundant) return redundant_speed(c, missing == 0);
  if (missing == 0) return 1;
  double speed = 0, before = 0;
  for (int most = 1; most <= std::min(missing, c.pipelines()); ++most) {
    const double upto = most == std::min(missing, c.pipelines()) ? 1 : none_above(c, missing, most);
    speed += (upto - before) * rerouted_speed(c, most);
    before = upto;
    if (before > 1 - 1e-12) break;
  }
  return speed;
}

double speed_at(const GoodputCase& c, Recovery policy, const std::vector<bool>& empty,
                int missing) {
  if (policy != Recovery::kRerouted) return elastic_speed(c, policy, missing);
  int most = 0;
  for (int stage = 0; stage < c.stages && missing > 0; ++stage) {
    most = std::max(most, empty_in_stage(c, empty, stage));
  }
  return rerouted_speed(c, most);
}

bool is_fatal(const GoodputCase& c, Recovery policy, const std::vector<bool>& empty, int place) {
  const int stage = place % c.stages, first = place - stage;
  const auto gone = [&](int other) {
    return other != place && empty[static_cast<std::size_t>(other)];
  };
  if (policy == Recovery::kRerouted) {
    return empty_in_stage(c, empty, stage) == c.pipelines() - 1;
  }
  if (policy != Recovery::kRedundant) return false;
  if (c.stages == 1) return true;  // nobody else has run its stage
  return gone(first + (stage + 1) % c.stages) || gone(first + (stage + c.stages - 1) % c.stages);
}

bool rack_is_fatal(const GoodputCase& c, Recovery policy) {
  std::vector<bool> empty(static_cast<std::size_t>(c.nodes));
  for (int place = 0; place < c.rack_nodes; ++place) {
    if (is_fatal(c, policy, empty, place)) return true;
    empty[static_cast<std::size_t>(place)] = true;
  }
  return false;
}

bool loses_copies(const GoodputCase& c) { return c.rack_nodes >= c.copies && !c.copies_apart; }

double fatal_probability(const GoodputCase& c, Recovery policy, int missing) {
  // That a given set of `size` other places has none empty, or only empty ones.
  const double others = c.nodes - 1;
  const auto none = [&](double size) {
    if (missing > others - size) return 0.0;
    return std::exp(log_choose(others - size, missing) - log_choose(others, missing));
  };
  if (policy == Recovery::kRerouted) {
    const double size = c.pipelines() - 1;
    if (missing < size) return 0;
    return std::exp(log_choose(others - size, missing - size) - log_choose(others, missing));
  }
  if (policy != Recovery::kRedundant) return 0;
  if (c.stages == 1) return 1;
  return 1 - none(c.stages == 2 ? 1 : 2);
}

}  // namespace weft::planner
