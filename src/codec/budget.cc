#include "codec/budget.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace weft::codec {
namespace {

constexpr std::uint32_t kInfinity = 0x7F800000;
constexpr std::size_t kStride = 4;  // every so many of a sample are enough beside other pieces

}  // namespace

std::optional<double> Budget::share(std::uint64_t step, double rate, const Piece& piece) {
  const std::lock_guard lock(mutex_);
  if (step > step_ && !seen_.empty()) {
    divide(rate);
    step_ = step;
  }
  const auto at = shares_.find(piece);
  if (at == shares_.end()) return std::nullopt;
  return std::min(at->second, static_cast<double>(kMostTimes) * rate);
}

// The magnitude that the share `rate` of all values reaches, and how many of each piece do.
void Budget::divide(double rate) {
  double wanted = 0;
  std::vector<std::pair<std::uint32_t, double>> all;  // bits, values that they stand for
  for (const auto& [piece, seen] : seen_) {
    wanted += rate * seen.weight * static_cast<double>(seen.size);
    for (const std::uint32_t bits : seen.largest) all.emplace_back(bits, seen.weight);
  }
  std::sort(all.begin(), all.end(), std::greater<>());
  std::uint32_t least = 1;  // zeros are not worth sending
  for (const auto& [bits, weight] : all) {
    least = std::max(bits, 1U);
    wanted -= weight;
    if (wanted <= 0) break;
  }
  shares_.clear();
  for (const auto& [piece, seen] : seen_) {
    const auto reach = std::count_if(seen.largest.begin(), seen.largest.end(),
                                     [&](std::uint32_t bits) { return bits >= least; });
    shares_[piece] = static_cast<double>(reach) / static_cast<double>(seen.size);
  }
  seen_.clear();
}

void Budget::add(const Piece& piece, double rate, std::size_t count,
                 std::span<const std::uint32_t> sample) {
  Seen seen;
  for (std::size_t i = 0; i < sample.size(); i += kStride) {
    ++seen.size;
    if (sample[i] < kInfinity) seen.largest.push_back(sample[i]);
  }
  if (seen.size == 0) return;
  seen.weight = static_cast<double>(count) / static_cast<double>(seen.size);
  const double kept =
      std::ceil(static_cast<double>(kMostTimes) * rate * static_cast<double>(seen.size));
  if (kept < static_cast<double>(seen.largest.size())) {
    const auto end = seen.largest.begin() + static_cast<std::ptrdiff_t>(kept);
    std::nth_element(seen.largest.begin(), end, seen.largest.end(), std::greater<>());
    seen.largest.erase(end, seen.largest.end());
  }
  const std::lock_guard lock(mutex_);
  seen_[piece] = std::move(seen);
}

}  // namespace weft::codec
