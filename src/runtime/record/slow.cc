#include "runtime/record/slow.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/check.h"

namespace weft::runtime {
namespace {

// The mean of the middle two where there is no middle one. Requires: not empty.
double median(std::vector<double> values) {
  const std::size_t middle = values.size() / 2;
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(middle);
  std::nth_element(values.begin(), at, values.end());
  if (values.size() % 2 == 1) return *at;
  return (*at + *std::max_element(values.begin(), at)) / 2;
}

// Of all but the one at `without`, from all of them in order. Requires: at least two.
double median_without(const std::vector<double>& sorted, std::size_t without) {
  const auto other = [&](std::size_t i) { return sorted[i < without ? i : i + 1]; };
  const std::size_t count = sorted.size() - 1;
  return count % 2 == 1 ? other(count / 2) : (other(count / 2 - 1) + other(count / 2)) / 2;
}

}  // namespace

std::string in_words(const SlowRank& slow) {
  return fmt::format("rank {} computes {:.1f}x as long as the median of the others since step {}",
                     slow.rank, slow.ratio, slow.since);
}

SlowWatch::SlowWatch(int ranks) : ranks_(ranks) { CHECK(ranks >= 1); }

void SlowWatch::observe(std::uint64_t step, std::span<const Seconds> seconds) {
  CHECK(seconds.size() == static_cast<std::size_t>(ranks_));
  if (ranks_ < 2) return;
  std::vector<double> sorted(seconds.begin(), seconds.end());
  std::sort(sorted.begin(), sorted.end());
  Row row{step, {}};
  for (const Seconds own : seconds) {
    const auto place = std::lower_bound(sorted.begin(), sorted.end(), own);
    const double others = median_without(sorted, static_cast<std::size_t>(place - sorted.begin()));
    row.logs.push_back(std::log((own + kFloor) / (others + kFloor)));
  }
  rows_.push_back(std::move(row));
  if (rows_.size() > kNoiseWindow) rows_.pop_front();
  if (rows_.size() < kNeeded) return;
  double noise_now = -1;  // costs more than the rest and is seldom asked for
  for (int rank = 0; rank < ranks_; ++rank) {
    const bool named = std::any_of(slow_.begin(), slow_.end(),
                                   [&](const SlowRank& slow) { return slow.rank == rank; });
    if (!named && lasting(rank) < std::log(kNamedRatio)) continue;
    if (noise_now < 0) noise_now = noise();
    judge(rank, noise_now);
  }
}

// The logarithm of the ratio that the rank reached in kNeeded of the last kWindow steps.
double SlowWatch::lasting(int rank) const {
  double values[kWindow];
  const std::size_t count = std::min(rows_.size(), kWindow);
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = rows_[rows_.size() - 1 - i].logs[static_cast<std::size_t>(rank)];
  }
  std::nth_element(values, values + kNeeded - 1, values + count, std::greater<>());
  return values[kNeeded - 1];
}

double SlowWatch::noise() const {
  std::vector<double> distances, of_rank;
  for (std::size_t rank = 0; rank < static_cast<std::size_t>(ranks_); ++rank) {
    of_rank.clear();
    for (const Row& row : rows_) of_rank.push_back(row.logs[rank]);
    const double middle = median(of_rank);
    for (const double value : of_rank) distances.push_back(std::abs(value - middle));
  }
  return 1.4826 * median(std::move(distances));
}

void SlowWatch::judge(int rank, double noise) {
  const double log_ratio = lasting(rank);
  const auto place = std::find_if(slow_.begin(), slow_.end(),
                                  [&](const SlowRank& slow) { return slow.rank >= rank; });
  if (place != slow_.end() && place->rank == rank) {
    place->ratio = std::exp(log_ratio);
    if (place->ratio < kClearedRatio) slow_.erase(place);
    return;
  }
  if (log_ratio < std::max(std::log(kNamedRatio), kNoiseTimes * noise)) return;
  std::uint64_t since = rows_.back().step;
  for (std::size_t i = 0; i < std::min(rows_.size(), kWindow); ++i) {
    const Row& row = rows_[rows_.size() - 1 - i];
    if (row.logs[static_cast<std::size_t>(rank)] >= log_ratio) since = row.step;
  }
  slow_.insert(place, {rank, std::exp(log_ratio), since});
}

OwnTimes::OwnTimes(int ranks)
    : watch_(ranks),
      before_(static_cast<std::size_t>(ranks)),
      seconds_(static_cast<std::size_t>(ranks)) {}

void OwnTimes::take(std::uint64_t step, std::span<const std::uint32_t> own_us) {
  constexpr std::uint64_t kLeastUs = 1000;
  if (own_us.size() != before_.size()) return;
  const bool first = before_[0] == 0;
  std::uint64_t sum_us = 0;
  for (std::size_t i = 0; i < own_us.size(); ++i) {
    const std::uint32_t passed_us = own_us[i] - before_[i];
    // Not known, or an operation that was begun before the last one taken.
    if (own_us[i] == 0 || (!first && static_cast<std::int32_t>(passed_us) < 0)) return;
    seconds_[i] = 1e-6 * passed_us;
    sum_us += passed_us;
  }
  if (!first && (step == 0 ? sum_us < kLeastUs * own_us.size() : step == step_)) return;
  before_.assign(own_us.begin(), own_us.end());
  // Most of a step is computed before its first operation.
  if (!first) watch_.observe(step == 0 ? counted_ : step, seconds_);
  step_ = step;
  ++counted_;
}

}  // namespace weft::runtime
