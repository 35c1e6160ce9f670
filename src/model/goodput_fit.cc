#include "model/goodput_fit.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/check.h"

namespace weft {
namespace {

double beyond_two(Gang gang) { return std::max(gang.replicas - 2, 0); }

// Parameters of the fit: logarithms of the six coefficients, then the overlap.
constexpr std::size_t kParameters = 7;
using Parameters = std::array<double, kParameters>;
constexpr double kLogFree = -18.42;  // 10 ns: an exchange nobody has seen yet
constexpr double kLogMost = 9.2;
constexpr double kOverlapMost = 10;
// Weights of the priors "little overlap" and "little growth with replicas" (AdaptDL
// uses 1e-3 and 1e-2 on root mean squares; here the errors are mean squares, hence smaller
// weights).
constexpr double kOverlapPrior = 1e-4;
constexpr double kGrowthPrior = 1e-3;

StepTimeModel to_model(const Parameters& p) {
  return {std::exp(p[0]),
          std::exp(p[1]),
          std::exp(p[2]),
          std::exp(p[3]),
          std::exp(p[4]),
          std::exp(p[5]),
          p[6]};
}

// Adds one weighted residual to the normal equations.
struct NormalEquations {
  std::array<Parameters, kParameters> matrix{};
  Parameters right{};
  double cost = 0;

  void add(double residual, const Parameters& gradient, double weight) {
    cost += weight * residual * residual;
    for (std::size_t i = 0; i < kParameters; ++i) {
      right[i] -= weight * gradient[i] * residual;
      for (std::size_t k = 0; k < kParameters; ++k)
        matrix[i][k] += weight * gradient[i] * gradient[k];
    }
  }
};

void add_observation(const StepTimeModel& model, const Observation& seen, double weight,
                     NormalEquations& equations) {
  const double compute = model.compute_alpha + model.compute_beta * seen.local_batch;
  Parameters compute_gradient{};
  compute_gradient[0] = model.compute_alpha / compute;
  compute_gradient[1] = 1 - compute_gradient[0];
  equations.add(std::log(compute / seen.time.compute_s), compute_gradient, weight);

  Parameters gradient{};
  double step = compute;
  if (seen.gang.replicas > 1) {
    const bool between = seen.gang.nodes > 1;
    const double alpha = between ? model.between_alpha : model.inside_alpha;
    const double beta = between ? model.between_beta : model.inside_beta;
    const double exchange = alpha + beta * beyond_two(seen.gang);
    const double u = std::pow(exchange / compute, model.overlap);
    const double share = u / (1 + u);  // of the exchange in d(log step)
    step = compute * std::pow(1 + u, 1 / model.overlap);
    const std::size_t first = between ? 2 : 4;
    gradient[0] = (1 - share) * compute_gradient[0];
    gradient[1] = (1 - share) * compute_gradient[1];
    gradient[first] = share * alpha / exchange;
    gradient[first + 1] = share - gradient[first];
    gradient[6] =
        (share * std::log(exchange / compute) - std::log1p(u) / model.overlap) / model.overlap;
  } else {
    gradient = compute_gradient;
  }
  equations.add(std::log(step / seen.time.step_s), gradient, weight);
}

NormalEquations linearise(const Parameters& p, std::span<const Observation> observations) {
  const StepTimeModel model = to_model(p);
  NormalEquations equations;
  const double weight = 1.0 / static_cast<double>(observations.size());
  for (const Observation& seen : observations) add_observation(model, seen, weight, equations);
  Parameters gradient{};
  gradient[6] = 1;
  equations.add(model.overlap - 1, gradient, kOverlapPrior);
  for (const std::size_t alpha : {std::size_t{2}, std::size_t{4}}) {
    const double growth = std::exp(p[alpha + 1] - p[alpha]);
    gradient = {};
    gradient[alpha] = -growth;
    gradient[alpha + 1] = growth;
    equations.add(growth, gradient, kGrowthPrior);
  }
  return equations;
}

// Solves (matrix + damping * diagonal) x = right over the free parameters, by Gaussian elimination
// (the matrix is positive definite, so no pivoting).
Parameters damped_step(const NormalEquations& equations, const std::array<bool, kParameters>& free,
                       double damping) {
  std::array<Parameters, kParameters> a = equations.matrix;
  Parameters x = equations.right;
  for (std::size_t i = 0; i < kParameters; ++i) {
    if (!free[i]) {
      for (std::size_t k = 0; k < kParameters; ++k) a[i][k] = a[k][i] = 0;
      x[i] = 0;
    }
    a[i][i] = free[i] ? a[i][i] * (1 + damping) + 1e-9 : 1.0;
  }
  for (std::size_t i = 0; i < kParameters; ++i)
    for (std::size_t r = i + 1; r < kParameters; ++r) {
      const double factor = a[r][i] / a[i][i];
      for (std::size_t k = i; k < kParameters; ++k) a[r][k] -= factor * a[i][k];
      x[r] -= factor * x[i];
    }
  for (std::size_t i = kParameters; i-- > 0;) {
    for (std::size_t k = i + 1; k < kParameters; ++k) x[i] -= a[i][k] * x[k];
    x[i] /= a[i][i];
  }
  return x;
}

double lower_bound(std::size_t i) { return i == 6 ? 1.0 : kLogFree; }
double upper_bound(std::size_t i) { return i == 6 ? kOverlapMost : kLogMost; }

// Levenberg-Marquardt with the bounds kept by projection: a parameter at its bound that wants to go
// further rests for that step.
void minimise(Parameters& p, const std::array<bool, kParameters>& varies,
              std::span<const Observation> observations) {
  double damping = 1e-3;
  NormalEquations here = linearise(p, observations);
  for (int iteration = 0; iteration < 60; ++iteration) {
    std::array<bool, kParameters> free = varies;
    for (std::size_t i = 0; i < kParameters; ++i)
      if ((p[i] <= lower_bound(i) && here.right[i] < 0) ||
          (p[i] >= upper_bound(i) && here.right[i] > 0))
        free[i] = false;
    const Parameters step = damped_step(here, free, damping);
    Parameters next = p;
    for (std::size_t i = 0; i < kParameters; ++i)
      next[i] = std::clamp(p[i] + std::clamp(step[i], -2.0, 2.0), lower_bound(i), upper_bound(i));
    NormalEquations there = linearise(next, observations);
    if (!(there.cost < here.cost)) {
      damping *= 8;
      if (damping > 1e9) return;
      continue;
    }
    const bool settled = here.cost - there.cost <= 1e-7 * here.cost;
    p = next;
    here = there;
    damping = std::max(damping / 4, 1e-9);
    if (settled) return;
  }
}

// What the observations can tell, and a starting point for it.
struct Start {
  Parameters p;
  std::array<bool, kParameters> varies;
};

Start starting_point(std::span<const Observation> observations) {
  double compute = 0, batch = 0, between = 0, inside = 0;
  bool batches_differ = false, nodes_seen = false, inside_seen = false, more_than_two = false;
  for (const Observation& seen : observations) {
    CHECK(seen.time.compute_s > 0 && seen.time.step_s > 0);
    compute += seen.time.compute_s;
    batch += seen.local_batch;
    batches_differ |= seen.local_batch != observations.front().local_batch;
    more_than_two |= seen.gang.replicas > 2;
    if (seen.gang.replicas == 1) continue;
    const double exposed = std::max(seen.time.step_s - seen.time.compute_s, 1e-6);
    (seen.gang.nodes > 1 ? nodes_seen : inside_seen) = true;
    (seen.gang.nodes > 1 ? between : inside) = exposed;
  }
  const double half = compute / static_cast<double>(observations.size()) / 2;
  const double log_beta = std::log(half * static_cast<double>(observations.size()) / batch);
  const auto seen_or_free = [](bool seen, double s) { return seen ? std::log(s) : kLogFree; };
  Start start;
  start.p = {std::log(half),
             log_beta,
             seen_or_free(nodes_seen, between),
             seen_or_free(nodes_seen && more_than_two, between / 16),
             seen_or_free(inside_seen, inside),
             seen_or_free(inside_seen && more_than_two, inside / 16),
             1.5};
  start.varies = {batches_differ,
                  true,
                  nodes_seen,
                  nodes_seen && more_than_two,
                  inside_seen,
                  inside_seen && more_than_two,
                  nodes_seen || inside_seen};
  return start;
}

}  // namespace

StepTimeModel fit_step_time(std::span<const Observation> observations) {
  CHECK(!observations.empty());
  Start start = starting_point(observations);
  minimise(start.p, start.varies, observations);
  StepTimeModel model = to_model(start.p);
  if (!start.varies[2]) {  // links between nodes are no faster than those inside one
    model.between_alpha = std::max(model.between_alpha, 1.1 * model.inside_alpha);
    model.between_beta = std::max(model.between_beta, 1.1 * model.inside_beta);
  }
  return model;
}

}  // namespace weft
