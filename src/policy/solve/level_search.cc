#include "policy/solve/level_search.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace weft::solve {
namespace {
constexpr double kLevelEps = 4e-16;  // needs may rise steeply with the level
constexpr double kCostEps = 1e-12;
constexpr int kMaxLevelPlanes = 2000;
constexpr int kMaxIdlePlanes = 10;  // without any progress: rounding is all that is left
constexpr int kMaxLevelSteps = 100;
}  // namespace

// The mixture is the matrix game "purchase against type": with loads l[k][t] + 1 > 0,
// max sum x subject to sum x[k] (l[k][t] + 1) <= 1 has the value 1 / (2 + overload).
LevelSearch::LevelSearch(const LevelRows& rows, double copies, const Background& background,
                         std::span<const double> capacity)
    : rows_(rows),
      copies_(copies),
      background_(background),
      capacity_(capacity),
      mixture_(std::vector<double>(capacity.size(), 1.0)),
      price_(capacity.size()),
      load_(capacity.size()) {}

void LevelSearch::evaluate(std::span<const double> part, double level) {
  for (std::size_t t = 0; t < capacity_.size(); ++t) price_[t] = part[t] / capacity_[t];
  const Demand own = demand(rows_, price_, level);
  cost_ = 0;
  cost_slope_ = 0;
  for (std::size_t t = 0; t < capacity_.size(); ++t) {
    const double slope = own.slope(t) * copies_ + background_.demand.slope(t);
    const double usage = own.usage(t) * copies_ + background_.demand.usage(t) +
                         (level - background_.level) * background_.demand.slope(t);
    load_[t] = usage / capacity_[t];
    cost_ += part[t] * load_[t];
    cost_slope_ += price_[t] * slope;
  }
}

// The level in [low, high] at which the cheapest purchases cost the whole cluster, up to `slack_`
// too high, or `high` where they cost less there. Newton's method from the right, inside a bracket.
double LevelSearch::lower_level(std::span<const double> part, double low, double high) {
  double level = high;
  for (int step = 0; step < kMaxLevelSteps; ++step) {
    evaluate(part, level);
    const double excess = cost_ - 1;
    if (excess <= 0 && step == 0) return level;
    (excess > 0 ? high : low) = level;
    if ((excess > -kCostEps && excess < slack_) || high - low <= kLevelEps * high) break;
    double next = cost_slope_ > 0 ? level - excess / cost_slope_ : low;
    if (!(next > low && next < high)) next = 0.5 * (low + high);
    if (std::abs(next - level) <= kLevelEps * level) break;
    level = next;
  }
  return level;
}

void LevelSearch::keep(std::span<const double> part, double level) {
  std::vector<double> column(load_);
  for (double& entry : column) entry += 1;
  mixture_.add(column, 1);
  purchases_.push_back({{part.begin(), part.end()}, level});
}

bool LevelSearch::cut(std::span<const double> part) {
  const double level = lower_level(part, lowest_, best_.level);
  const bool lowered = level < best_.level;
  if (lowered || best_.part.empty()) best_.part.assign(part.begin(), part.end());
  best_.level = level;
  keep(part, level);
  return lowered;
}

LevelSearch::Outcome LevelSearch::run(const Quote& start, double lowest, double tolerance) {
  lowest_ = lowest;
  best_.level = start.level;
  cut(start.part);
  Outcome outcome;
  std::vector<double> far(capacity_.size());
  std::vector<double> between(capacity_.size());
  double seen_overload = std::numeric_limits<double>::infinity();
  double seen_level = seen_overload;
  int idle = 0;
  for (int plane = 0; plane < kMaxLevelPlanes && idle < kMaxIdlePlanes; ++plane) {
    mixture_.solve();
    outcome.overload = 1 / mixture_.value() - 2;
    if (outcome.overload <= tolerance) break;
    const bool progress = outcome.overload < seen_overload || best_.level < seen_level;
    idle = progress ? 0 : idle + 1;
    seen_overload = outcome.overload;
    seen_level = best_.level;
    slack_ = std::max(kCostEps, outcome.overload / 100);
    if (lowest_ > 0 && best_.level <= lowest_ * (1 + 1e-9)) {
      outcome.gave_up = true;
      break;
    }
    double sum = 0;
    for (const double price : mixture_.prices()) sum += price;
    for (std::size_t t = 0; t < far.size(); ++t) {
      far[t] = std::max(0.0, mixture_.prices()[t] / sum);
      between[t] = kInOut * best_.part[t] + (1 - kInOut) * far[t];
    }
    cut(between);
    double far_load = 0;
    for (std::size_t t = 0; t < far.size(); ++t) far_load += far[t] * load_[t];
    // The plane leaves the planes' optimum where it was: take the next one right there.
    if (far_load >= 1 + outcome.overload * (1 - 1e-3)) cut(far);
  }
  outcome.quote = best_;
  for (const Mixture::Part& part : mixture_.parts()) {
    const Quote& quote = purchases_[static_cast<std::size_t>(part.column)];
    const double weight = part.weight / mixture_.value();
    outcome.mixture.push_back({quote, weight});
    outcome.mixed_level += weight * quote.level;
  }
  return outcome;
}

}  // namespace weft::solve
