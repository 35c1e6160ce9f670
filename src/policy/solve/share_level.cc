// The max-min family: jobs are raised together, level by level, until prices stop them.
#include <algorithm>
#include <array>
#include <cmath>

#include "policy/solve/level_rounds.h"
#include "policy/solve/share.h"

namespace weft::solve {
namespace {

constexpr double kTolerance = 2e-9;  // overload of the final mixture
constexpr double kGap = 1e-7;        // promised distance of level and bound
constexpr double kNoPrice = 1e-7;    // a part of the cluster's cost below this stops nobody
constexpr std::size_t kSampleStep = 8;

class LevelSolver {
 public:
  explicit LevelSolver(const LevelProblem& problem)
      : problem_(problem), rows_(problem.rows), types_(problem.capacity.size()) {}

  // Requires: there are rows, and their needs at `lowest` fit.
  void solve(double lowest);

  std::vector<double> fraction;  // rows x types
  double level = 0;              // that every row reaches which is not at its best
  double bound = 0;
  std::vector<double> price;

 private:
  Quote sample(std::size_t stride, double& margin) const;
  void mix(const Settled& settled);
  void fit();
  double level_at(const Quote& quote) const;

  const LevelProblem& problem_;
  const LevelRows& rows_;
  std::size_t types_;
  double lowest_ = 0;
  double highest_ = 0;
};

// How far the prices of a sample of that many rows may be from those of all.
double sampling_margin(std::size_t rows) { return 1.4 / std::sqrt(static_cast<double>(rows)); }

// A quote from every `stride`-th row, itself found from a coarser sample; sets the margin within
// which it can be trusted.
Quote LevelSolver::sample(std::size_t stride, double& margin) const {
  if (rows_.size() / stride <= kFewRows / kSampleStep) {
    Quote quote{std::vector<double>(types_), highest_};
    double devices = 0;
    for (const double capacity : problem_.capacity) devices += capacity;
    for (std::size_t t = 0; t < types_; ++t) quote.part[t] = problem_.capacity[t] / devices;
    margin = kWideMargin;
    return quote;
  }
  const Quote start = sample(stride * kSampleStep, margin);
  LevelRows rows;
  rows.types = rows_.types;
  for (std::size_t row = stride / 2; row < rows_.size(); row += stride) rows.append(rows_, row);
  const double copies = static_cast<double>(rows_.size()) / static_cast<double>(rows.size());
  const LevelRounds rounds(rows, copies, problem_.capacity, lowest_, highest_);
  const double next = sampling_margin(rows.size());
  const Quote quote = rounds.settle(start, margin, next * next / 100).outcome.quote;
  margin = next;
  return quote;
}

// The fractions of the mixture: decided rows at its mean level, the others purchase by purchase.
void LevelSolver::mix(const Settled& settled) {
  fraction.assign(rows_.size() * types_, 0);
  const auto put = [&](std::size_t row, const Edge& edge, double need, double weight) {
    double* out = fraction.data() + row * types_;
    if (edge.low == edge.high) {
      out[edge.high] += weight;
      return;
    }
    const double high = weight * (need - edge.low_rate) / edge.width();
    out[edge.high] += high;
    if (edge.low != kIdle) out[edge.low] += weight - high;
  };
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    if (!settled.split.is_decided(row)) continue;
    put(row, edge_between(rows_.rates(row), settled.split.ends[row]),
        rows_.need(row, settled.outcome.mixed_level).rate, 1);
  }
  for (const LevelSearch::Purchase& purchase : settled.outcome.mixture) {
    const std::vector<double> price_at = prices(purchase.quote, problem_.capacity);
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      if (settled.split.is_decided(row)) continue;
      const double need = rows_.need(row, purchase.quote.level).rate;
      put(row, cheapest_edge<0>(rows_.rates(row), price_at.data(), rows_.types, need), need,
          purchase.weight);
    }
  }
}

// Scales the fractions into the capacity and finds the level that they reach.
void LevelSolver::fit() {
  std::array<double, kMaxTypes> usage{};
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    for (std::size_t t = 0; t < types_; ++t) {
      usage[t] += rows_.scale[row] * fraction[row * types_ + t];
    }
  }
  double load = 1;
  for (std::size_t t = 0; t < types_; ++t) load = std::max(load, usage[t] / problem_.capacity[t]);
  level = highest_;
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    double throughput = 0;
    for (std::size_t t = 0; t < types_; ++t) {
      fraction[row * types_ + t] /= load;
      throughput += rows_.rates(row)[t] * fraction[row * types_ + t];
    }
    if (throughput < rows_.best[row] * (1 - 1e-12) / load) {
      level = std::min(level, rows_.level_of(row, throughput));
    }
  }
}

// The level at which all rows' cheapest purchases cost the whole cluster: no shares reach more.
double LevelSolver::level_at(const Quote& quote) const {
  const std::vector<double> price_at = prices(quote, problem_.capacity);
  double low = 0;
  double high = highest_;
  double at = quote.level;
  for (int step = 0; step < 100; ++step) {
    const Demand all = demand(rows_, price_at, at);
    double excess = -1;
    double slope = 0;
    for (std::size_t t = 0; t < types_; ++t) {
      excess += price_at[t] * all.usage(t);
      slope += price_at[t] * all.slope(t);
    }
    (excess > 0 ? high : low) = at;
    if (std::abs(excess) < 1e-11 || high - low <= 1e-12 * high) break;
    double next = slope > 0 ? at - excess / slope : 0.5 * (low + high);
    if (!(next > low && next < high)) next = 0.5 * (low + high);
    at = next;
  }
  return at;
}

void LevelSolver::solve(double lowest) {
  lowest_ = lowest;
  highest_ = lowest;
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    highest_ = std::max(highest_, rows_.level_of(row, rows_.best[row]));
  }
  double margin = 0;
  Quote quote = sample(kSampleStep, margin);
  const LevelRounds rounds(rows_, 1, problem_.capacity, lowest_, highest_);
  for (;;) {
    const Settled settled = rounds.settle(quote, margin, kTolerance);
    quote = settled.outcome.quote;
    mix(settled);
    fit();
    bound = std::max(level, level_at(quote));
    price = prices(quote, problem_.capacity);
    if (settled.margin >= kWideMargin || bound - level <= kGap * bound) return;
    margin = settled.margin * 5;
  }
}

// Leads the solver's rows and types back to the problem's. The level is that of all jobs, also of
// those that are at their own best.
ShareResult in_terms_of(const ShareProblem& problem, const LevelProblem& level,
                        const LevelSolver& solver) {
  ShareResult share;
  share.level = solver.level;
  share.bound = solver.bound;
  share.fraction.assign(problem.jobs() * problem.types(), 0);
  share.price.assign(problem.types(), 0);
  const std::size_t types = level.type.size();
  for (std::size_t j = 0; j < problem.jobs(); ++j) {
    if (level.row[j] < 0) continue;
    const auto row = static_cast<std::size_t>(level.row[j]);
    for (std::size_t t = 0; t < types; ++t) {
      share.fraction[j * problem.types() + level.type[t]] = solver.fraction[row * types + t];
    }
  }
  for (std::size_t row = 0; row < level.rows.size(); ++row) {
    const double alone = level.rows.level_of(row, level.rows.best[row]);
    share.level = std::min(share.level, alone);
    share.bound = std::min(share.bound, alone);
  }
  for (std::size_t t = 0; t < solver.price.size(); ++t) {
    share.price[level.type[t]] = solver.price[t];
  }
  return share;
}

// Whether more throughput than at this level would cost the row something, or is out of reach.
bool is_stopped(const LevelProblem& level, const LevelSolver& solver, std::size_t row) {
  const LevelRows::Need need = level.rows.need(row, solver.level);
  if (need.slope <= 0) return true;
  const Edge edge =
      cheapest_edge<0>(level.rows.rates(row), solver.price.data(), level.rows.types, need.rate);
  return edge.high_price - edge.low_price >
         kNoPrice / level.capacity[static_cast<std::size_t>(edge.high)];
}

}  // namespace
}  // namespace weft::solve

namespace weft {

ShareResult share_max_min(const ShareProblem& problem, std::span<const ShareNeed> needs) {
  const solve::LevelProblem level = solve::make_level_problem(problem, needs);
  solve::LevelSolver solver(level);
  if (level.rows.size() > 0) solver.solve(0);
  return solve::in_terms_of(problem, level, solver);
}

ShareResult share_water_filling(const ShareProblem& problem, std::span<const ShareNeed> needs) {
  solve::LevelProblem level = solve::make_level_problem(problem, needs);
  solve::LevelSolver solver(level);
  if (level.rows.size() == 0) return solve::in_terms_of(problem, level, solver);
  solver.solve(0);
  ShareResult result = solve::in_terms_of(problem, level, solver);
  std::vector<char> fixed(level.rows.size());
  std::size_t left = level.rows.size();
  // Each stage gives a price to a type that had none; twice that many allow for rounding.
  for (std::size_t stage = 0; stage < 2 * level.type.size(); ++stage) {
    const double reached = solver.level;
    for (std::size_t row = 0; row < level.rows.size(); ++row) {
      if (fixed[row] || !is_stopped(level, solver, row)) continue;
      fixed[row] = 1;
      --left;
    }
    if (left == 0) break;
    for (std::size_t row = 0; row < level.rows.size(); ++row) {
      if (fixed[row] != 1) continue;
      fixed[row] = 2;
      level.rows.fix(row, level.rows.need(row, reached).rate * (1 - 4 * solve::kTolerance));
    }
    solver.solve(reached);
    if (solver.level <= reached * (1 + 1e-9)) break;
  }
  result.fraction = solve::in_terms_of(problem, level, solver).fraction;
  return result;
}

}  // namespace weft
