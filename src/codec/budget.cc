#include "codec/budget.h"

#include <algorithm>
#include <bit>

namespace weft::codec {
namespace {

constexpr int kShift = 16;
constexpr std::uint32_t kInfinity = 0x7F800000;
constexpr std::size_t kKinds = kInfinity >> kShift;

}  // namespace

std::optional<float> Budget::threshold(std::uint64_t step, double rate) {
  const std::lock_guard lock(mutex_);
  if (step <= step_ || kinds_.empty()) return threshold_;
  step_ = step;
  std::uint64_t all = 0;
  for (const std::uint64_t values : kinds_) all += values;
  const auto wanted = static_cast<std::uint64_t>(rate * static_cast<double>(all));
  std::size_t kind = kKinds;
  std::uint64_t reached = 0;
  while (kind > 0 && reached < wanted) reached += kinds_[--kind];
  // Zeros are not worth sending.
  const auto bits = static_cast<std::uint32_t>(kind << kShift);
  threshold_ = std::bit_cast<float>(std::max(bits, 1U));
  kinds_.clear();
  return threshold_;
}

void Budget::add(std::size_t count, std::span<const std::uint32_t> sample) {
  if (sample.empty()) return;
  const std::uint64_t each = (static_cast<std::uint64_t>(count) << kShift) / sample.size();
  const std::lock_guard lock(mutex_);
  kinds_.resize(kKinds);
  for (const std::uint32_t bits : sample) {
    if (bits < kInfinity) kinds_[bits >> kShift] += each;
  }
}

}  // namespace weft::codec
