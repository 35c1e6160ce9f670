// The largest total value, by prices per type and the best mixture of what jobs buy at them.
#include <algorithm>
#include <array>
#include <cmath>

#include "base/check.h"
#include "policy/solve/envelope.h"
#include "policy/solve/mixture.h"
#include "policy/solve/share.h"

namespace weft::solve {
namespace {

constexpr double kValueGap = 1e-8;
constexpr int kMaxValuePlanes = 5000;

class ValueSearch {
 public:
  ValueSearch(const ShareProblem& problem, std::span<const double> value,
              std::span<const double> floor);

  // Requires: `base` keeps the capacity and the floors; it is where the mixture begins.
  ShareValueResult run(std::vector<double> base);

 private:
  using PerType = std::array<double, kMaxTypes>;
  // Fractions of one job at prices, added to `out` with a weight.
  void buy(std::size_t job, const PerType& price, double weight, double* out) const;
  void evaluate(const PerType& price);
  void measure(std::span<const double> fraction, PerType& usage, double& value) const;
  Mixture begin(std::span<const double> base);
  // Evaluates prices and records the purchase. They bound the optimum: by what jobs gain at them
  // plus what the devices earn.
  void plane(const PerType& price, Mixture& mixture);
  void search(Mixture& mixture);

  const ShareProblem& problem_;
  std::span<const double> value_;
  std::span<const double> floor_;
  std::vector<std::size_t> type_;  // with devices
  PerType base_usage_{};
  double base_value_ = 0;
  double unit_ = 1;  // values are divided by this, so that sums are near one
  std::vector<PerType> purchase_price_;
  PerType best_price_{};
  double bound_ = 0;
  // The last evaluation.
  PerType usage_{};
  double bought_value_ = 0;
};

ValueSearch::ValueSearch(const ShareProblem& problem, std::span<const double> value,
                         std::span<const double> floor)
    : problem_(problem), value_(value), floor_(floor) {
  for (std::size_t t = 0; t < problem.types(); ++t) {
    if (problem.capacity[t] > 0) type_.push_back(t);
  }
  CHECK(problem.types() <= kMaxTypes);
  double sum = 0;
  for (std::size_t j = 0; j < problem.jobs(); ++j) {
    double most = 0;
    for (const std::size_t t : type_)
      most = std::max(most, std::abs(value[j * problem.types() + t]));
    sum += most;
  }
  if (sum > 0) unit_ = sum;
}

// A job's points are (throughput, price of its devices - value), over the types that it can use.
void ValueSearch::buy(std::size_t job, const PerType& price, double weight, double* out) const {
  const std::size_t types = problem_.types();
  PerType rate{};
  PerType cost{};
  std::array<std::size_t, kMaxTypes> type{};
  int usable = 0;
  Edge start;
  for (const std::size_t t : type_) {
    if (problem_.scale[job] > problem_.capacity[t]) continue;
    const auto k = static_cast<std::size_t>(usable);
    type[k] = t;
    rate[k] = problem_.throughput[job * types + t];
    cost[k] = problem_.scale[job] * price[t] - value_[job * types + t] / unit_;
    const bool cheaper =
        cost[k] < start.low_price || (cost[k] == start.low_price && rate[k] > start.low_rate);
    if (cheaper) {
      start.low = usable;
      start.low_rate = rate[k];
      start.low_price = cost[k];
    }
    ++usable;
  }
  const double need = floor_.empty() ? 0 : floor_[job];
  const auto add = [&](int corner, double part) {
    if (corner != kIdle) out[type[static_cast<std::size_t>(corner)]] += weight * part;
  };
  if (need <= start.low_rate) return add(start.low, 1);
  const Edge edge = cheapest_edge<0>(rate.data(), cost.data(), usable, need, start);
  if (edge.low == edge.high) return add(edge.high, 1);
  const double high = (need - edge.low_rate) / edge.width();
  add(edge.high, high);
  add(edge.low, 1 - high);
}

void ValueSearch::measure(std::span<const double> fraction, PerType& usage, double& value) const {
  usage.fill(0);
  value = 0;
  const std::size_t types = problem_.types();
  for (std::size_t j = 0; j < problem_.jobs(); ++j) {
    for (std::size_t t = 0; t < types; ++t) {
      usage[t] += problem_.scale[j] * fraction[j * types + t];
      value += value_[j * types + t] * fraction[j * types + t];
    }
  }
  value /= unit_;
}

void ValueSearch::evaluate(const PerType& price) {
  usage_.fill(0);
  bought_value_ = 0;
  const std::size_t types = problem_.types();
  for (std::size_t j = 0; j < problem_.jobs(); ++j) {
    PerType bought{};
    buy(j, price, 1, bought.data());
    for (const std::size_t t : type_) {
      usage_[t] += problem_.scale[j] * bought[t];
      bought_value_ += value_[j * types + t] / unit_ * bought[t];
    }
  }
}

Mixture ValueSearch::begin(std::span<const double> base) {
  measure(base, base_usage_, base_value_);
  std::vector<double> limit;
  for (const std::size_t t : type_) {
    limit.push_back(std::max(0.0, 1 - base_usage_[t] / problem_.capacity[t]));
  }
  limit.push_back(1);
  return Mixture(std::move(limit));
}

// Columns count from the base: what a purchase loads and gains more than it.
void ValueSearch::plane(const PerType& price, Mixture& mixture) {
  evaluate(price);
  double bound = bought_value_;
  std::vector<double> column;
  for (const std::size_t t : type_) {
    bound += price[t] * (problem_.capacity[t] - usage_[t]);
    column.push_back((usage_[t] - base_usage_[t]) / problem_.capacity[t]);
  }
  column.push_back(1);
  mixture.add(column, bought_value_ - base_value_);
  if (purchase_price_.empty() || bound < bound_) {
    bound_ = bound;
    best_price_ = price;
  }
  purchase_price_.push_back(price);
}

void ValueSearch::search(Mixture& mixture) {
  plane({}, mixture);
  for (int planes = 0; planes < kMaxValuePlanes; ++planes) {
    mixture.solve();
    const double gap = bound_ - (base_value_ + mixture.value());
    if (gap <= kValueGap * std::abs(bound_)) return;
    PerType far{};
    PerType between{};
    for (std::size_t k = 0; k < type_.size(); ++k) {
      const std::size_t t = type_[k];
      far[t] = std::max(0.0, mixture.prices()[k]) / problem_.capacity[t];
      between[t] = kInOut * best_price_[t] + (1 - kInOut) * far[t];
    }
    plane(between, mixture);
    double gain = bought_value_ - base_value_ - mixture.prices()[type_.size()];
    for (const std::size_t t : type_) gain -= far[t] * (usage_[t] - base_usage_[t]);
    if (gain <= 1e-3 * gap) plane(far, mixture);  // the first did not move the mixture's prices
  }
}

ShareValueResult ValueSearch::run(std::vector<double> base) {
  Mixture mixture = begin(base);
  search(mixture);
  ShareValueResult share;
  share.fraction.assign(base.size(), 0);
  double left = 1;
  for (const Mixture::Part& part : mixture.parts()) {
    left -= part.weight;
    for (std::size_t j = 0; j < problem_.jobs(); ++j) {
      buy(j, purchase_price_[static_cast<std::size_t>(part.column)], part.weight,
          share.fraction.data() + j * problem_.types());
    }
  }
  for (std::size_t i = 0; i < base.size(); ++i) {
    share.fraction[i] += std::max(0.0, left) * base[i];
  }
  PerType usage{};
  measure(share.fraction, usage, share.value);
  share.value *= unit_;
  share.bound = std::max(share.value, bound_ * unit_);
  share.price.assign(problem_.types(), 0);
  for (const std::size_t t : type_) share.price[t] = best_price_[t] * unit_;
  return share;
}

// Fractions that keep all floors, or nothing where there are none.
std::vector<double> fractions_for(const ShareProblem& problem, std::span<const double> floor) {
  ShareProblem asked;
  asked.capacity = problem.capacity;
  std::vector<ShareNeed> needs;
  std::vector<std::size_t> job;
  for (std::size_t j = 0; j < problem.jobs(); ++j) {
    if (floor[j] <= 0) continue;
    job.push_back(j);
    needs.push_back({floor[j], 0});
    asked.scale.push_back(problem.scale[j]);
    const auto row = problem.throughput.begin() + static_cast<std::ptrdiff_t>(j * problem.types());
    asked.throughput.insert(asked.throughput.end(), row,
                            row + static_cast<std::ptrdiff_t>(problem.types()));
  }
  std::vector<double> fraction(problem.jobs() * problem.types(), 0);
  if (job.empty()) return fraction;
  const ShareResult share = share_max_min(asked, needs);
  for (std::size_t k = 0; k < job.size(); ++k) {
    double reached = 0;
    for (std::size_t t = 0; t < problem.types(); ++t) {
      const double part = share.fraction[k * problem.types() + t];
      fraction[job[k] * problem.types() + t] = part;
      reached += part * problem.throughput[job[k] * problem.types() + t];
    }
    if (reached < floor[job[k]] * (1 - 1e-9)) return {};
  }
  return fraction;
}

}  // namespace
}  // namespace weft::solve

namespace weft {

ShareValueResult share_max_value(const ShareProblem& problem, std::span<const double> value,
                                 std::span<const double> floor) {
  CHECK(value.size() == problem.jobs() * problem.types());
  CHECK(floor.empty() || floor.size() == problem.jobs());
  const std::vector<double> nothing(value.size(), 0);
  if (floor.empty()) return solve::ValueSearch(problem, value, {}).run(nothing);
  std::vector<double> base = solve::fractions_for(problem, floor);
  if (base.size() == value.size()) {
    return solve::ValueSearch(problem, value, floor).run(std::move(base));
  }
  ShareValueResult share = solve::ValueSearch(problem, value, {}).run(nothing);
  share.floors_met = false;
  return share;
}

}  // namespace weft
