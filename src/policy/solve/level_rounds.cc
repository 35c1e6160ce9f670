#include "policy/solve/level_rounds.h"

#include <algorithm>
#include <cmath>

namespace weft::solve {
namespace {
constexpr double kShrink = 0.1;   // of the margin from round to round
constexpr double kWiden = 5;      // of the margin after a round that found nothing within it
constexpr double kRecentre = 2;   // of the margin after a round that left it
constexpr int kMaxRounds = 12;    // then all rows are searched
constexpr double kNarrow = 5e-4;  // a round with this margin is the last
// A round ends this far inside its margin, so that those of all later rounds lie within it and
// what it decided holds for them.
constexpr double kInside = 0.85;
// Types that cost nothing now may cost something: this much of the cluster is added to each part
// before the margin is taken.
constexpr double kDoubt = 0.05;
}  // namespace

std::vector<double> prices(const Quote& quote, std::span<const double> capacity) {
  std::vector<double> price(capacity.size());
  for (std::size_t t = 0; t < price.size(); ++t) price[t] = quote.part[t] / capacity[t];
  return price;
}

// Whether every other corner stays above the edge, and the need inside it, wherever prices and
// level move within the margin.
bool LevelRounds::is_decided(std::size_t row, const Edge& edge, const Quote& quote,
                             std::span<const double> price, double margin) const {
  const double below = rows_.need(row, quote.level * (1 - margin)).rate;
  const double above = rows_.need(row, quote.level * (1 + margin)).rate;
  const double width = edge.width();
  if (width <= 0 || below < edge.low_rate || above > edge.high_rate) return false;
  if (above >= rows_.best[row] && below < rows_.best[row]) return false;
  const double* rate = rows_.rates(row);
  const auto doubt = [&](int type) {
    if (type == kIdle) return 0.0;
    const auto t = static_cast<std::size_t>(type);
    return margin * (quote.part[t] + kDoubt) / capacity_[t];
  };
  const double low_doubt = doubt(edge.low);
  const double high_doubt = doubt(edge.high);
  for (int t = kIdle; t < rows_.types; ++t) {
    if (t == edge.low || t == edge.high) continue;
    const double other_rate = t == kIdle ? 0 : rate[t];
    const double other_price = t == kIdle ? 0 : price[static_cast<std::size_t>(t)];
    const double height = (other_price - edge.low_price) * width -
                          (edge.high_price - edge.low_price) * (other_rate - edge.low_rate);
    if (height <= doubt(t) * width + high_doubt * std::abs(other_rate - edge.low_rate) +
                      low_doubt * std::abs(other_rate - edge.high_rate)) {
      return false;
    }
  }
  return true;
}

Edge edge_between(const double* rate, Split::Ends ends) {
  Edge edge;
  edge.low = ends.low;
  edge.high = ends.high;
  if (ends.low != kIdle) edge.low_rate = rate[ends.low];
  edge.high_rate = rate[ends.high];
  return edge;
}

Split LevelRounds::split(const Quote& quote, double margin, std::vector<Split::Ends> ends) const {
  Split result;
  result.background.level = quote.level;
  if (margin >= kWideMargin) {
    result.undecided = rows_;
    return result;
  }
  if (ends.empty()) ends.assign(rows_.size(), {kIdle, Split::kUndecided});
  result.ends = std::move(ends);
  result.undecided.types = rows_.types;
  const std::vector<double> price = prices(quote, capacity_);
  with_types(rows_.types, [&]<int kTypes>() {
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      const LevelRows::Need need = rows_.need(row, quote.level);
      const double* rate = rows_.rates(row);
      Split::Ends& own = result.ends[row];
      Edge edge;
      if (own.high == Split::kUndecided) {
        edge = cheapest_edge<kTypes>(rate, price.data(), rows_.types, need.rate);
        if (!is_decided(row, edge, quote, price, margin)) {
          result.undecided.append(rows_, row);
          continue;
        }
        own = {static_cast<signed char>(edge.low), static_cast<signed char>(edge.high)};
      } else {
        edge = edge_between(rate, own);
      }
      result.background.demand.add(edge, need, rows_.scale[row] * copies_);
    }
  });
  return result;
}

// Moves `quote` to `to`, or as far that way as the margin reaches. True where it arrives inside.
bool LevelRounds::bring_near(Quote& quote, const Quote& to, double margin) const {
  bool arrives = true;
  const auto move = [&](double& from, double target, double reach) {
    const double step = std::clamp(target - from, -reach, reach);
    arrives &= std::abs(target - from) < kInside * reach;
    from += step;
  };
  move(quote.level, to.level, margin * quote.level);
  double sum = 0;
  for (std::size_t t = 0; t < capacity_.size(); ++t) {
    move(quote.part[t], to.part[t], margin * (quote.part[t] + kDoubt));
    sum += quote.part[t];
  }
  for (double& part : quote.part) part /= sum;
  return arrives;
}

Settled LevelRounds::settle(Quote quote, double margin, double tolerance) const {
  if (rows_.size() <= kFewRows) margin = kWideMargin;
  std::vector<Split::Ends> ends;
  for (int round = 0;; ++round) {
    if (round == kMaxRounds) margin = kWideMargin;
    Settled settled;
    settled.margin = margin;
    const bool all = margin >= kWideMargin;
    settled.split = split(quote, margin, std::move(ends));
    ends.clear();
    const bool last = all || margin <= kNarrow || settled.split.undecided.size() <= kFewRows;
    Quote start = quote;
    start.level = all ? highest_ : std::min(highest_, quote.level * (1 + margin));
    const double low = all ? lowest_ : std::max(lowest_, quote.level * (1 - 2 * margin));
    const double enough = last ? tolerance : std::max(tolerance, margin * margin / 100);
    settled.outcome =
        LevelSearch(settled.split.undecided, copies_, settled.split.background, capacity_)
            .run(start, low, enough);
    if (!all && settled.outcome.gave_up) {
      margin *= kWiden;
      continue;
    }
    if (!all && !bring_near(quote, settled.outcome.quote, margin)) {
      margin *= kRecentre;
      continue;
    }
    if (enough <= tolerance) return settled;
    quote = settled.outcome.quote;
    ends = std::move(settled.split.ends);
    margin *= kShrink;
  }
}

}  // namespace weft::solve
