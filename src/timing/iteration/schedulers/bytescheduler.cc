// ByteScheduler (Peng et al., SOSP '19): slices by first use inside a credit window; slice and
// credit are found by trying them. The paper's search is Bayesian, over real iterations; ours is a
// coarse grid and then a golden section, over simulated ones.
#include <algorithm>
#include <cmath>

#include "timing/iteration/schedulers/schedulers.h"

namespace weft {
namespace {

constexpr double kSmallestSlice = 64e3;
constexpr int kGridPoints = 9, kGoldenSteps = 10;
constexpr double kGolden = 0.6180339887498949;

class Tuner {
 public:
  explicit Tuner(const WithinInput& input) : input_(input), keys_(first_use(input.graph)) {}

  TransferPlan make(double slice, double credit) const {
    TransferPlan plan = sliced_plan(input_.graph, slice, keys_);
    plan.credit_bytes = credit;
    return plan;
  }

  TransferPlan best() {
    double largest = kSmallestSlice;
    for (const IterationOp& op : input_.graph.ops) {
      if (op.is_transfer) largest = std::max(largest, op.amount);
    }
    const double low = std::log(kSmallestSlice), high = std::log(largest);
    const double step = (high - low) / (kGridPoints - 1);
    for (double window : {1.0, 2.0, 4.0, 8.0}) {
      for (int i = 0; i < (step > 0 ? kGridPoints : 1); ++i) attempt(low + i * step, window);
    }
    golden_section(std::max(low, log_slice_ - step), std::min(high, log_slice_ + step), window_);
    return make(std::exp(log_slice_), window_ * std::exp(log_slice_));
  }

 private:
  Seconds attempt(double log_slice, double window) {
    const double slice = std::exp(log_slice);
    IterationSetting setting;
    setting.graph = &input_.graph;
    setting.plan = make(slice, window * slice * (1 + 1e-9));
    const IterationRun run = simulate_iterations(input_.link_bytes_per_s, {&setting, 1}, {});
    const Seconds time = run.jobs[0].ends[0];
    if (time < least_) least_ = time, log_slice_ = log_slice, window_ = window;
    return time;
  }

  void golden_section(double a, double b, double window) {
    double x = b - kGolden * (b - a), y = a + kGolden * (b - a);
    Seconds at_x = attempt(x, window), at_y = attempt(y, window);
    for (int i = 0; i < kGoldenSteps && b > a; ++i) {
      if (at_x <= at_y) {
        b = y, y = x, at_y = at_x;
        at_x = attempt(x = b - kGolden * (b - a), window);
      } else {
        a = x, x = y, at_x = at_y;
        at_y = attempt(y = a + kGolden * (b - a), window);
      }
    }
  }

  const WithinInput& input_;
  std::vector<double> keys_;
  Seconds least_ = kNever;
  double log_slice_ = 0, window_ = 1;
};

}  // namespace

TransferPlan plan_bytescheduler(const WithinInput& input) {
  Tuner tuner(input);
  if (input.values.empty()) return tuner.best();
  return tuner.make(input.values[0], input.values.size() > 1 ? input.values[1] : kNoLimit);
}

}  // namespace weft
