#include "codec/threshold.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <limits>
#include <vector>

#include "base/check.h"
#include "codec/draw.h"

namespace weft::codec {
namespace {

constexpr float kLeast = std::numeric_limits<float>::denorm_min();
constexpr std::size_t kAnyTies = std::numeric_limits<std::size_t>::max();

// Magnitudes order like their bits; the upper eleven are the exponent and three bits more.
constexpr int kKindShift = 20;
constexpr std::size_t kKinds = 1 << 11;

std::uint32_t magnitude_bits(float x) { return std::bit_cast<std::uint32_t>(x) & 0x7FFFFFFF; }

}  // namespace

Threshold exact_threshold(std::span<const float> values, const float* residual,
                          std::size_t wanted) {
  CHECK(wanted > 0 && wanted <= values.size());
  const auto bits = [&](std::size_t i) {
    return magnitude_bits(residual != nullptr ? values[i] + residual[i] : values[i]);
  };
  std::vector<std::size_t> kinds(kKinds);
  for (std::size_t i = 0; i < values.size(); ++i) ++kinds[bits(i) >> kKindShift];
  std::size_t kind = kKinds, above = 0;
  while (above + kinds[kind - 1] < wanted) above += kinds[--kind];
  --kind;
  std::vector<std::uint32_t> alike;
  alike.reserve(kinds[kind]);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (bits(i) >> kKindShift == kind) alike.push_back(bits(i));
  }
  const auto place = alike.begin() + static_cast<std::ptrdiff_t>(wanted - above - 1);
  std::nth_element(alike.begin(), place, alike.end(), std::greater<>());
  if (*place == 0) return {kLeast, kAnyTies};
  // nth_element has put all that are larger before the place.
  const auto larger =
      std::count_if(alike.begin(), place, [&](std::uint32_t b) { return b > *place; });
  return {std::bit_cast<float>(*place), wanted - above - static_cast<std::size_t>(larger)};
}

std::vector<std::uint32_t> sample_magnitudes(const ValueAt& value, std::size_t count,
                                             std::uint64_t key) {
  constexpr std::size_t kSample = 65536, kNeighbours = 16;  // of one cache line
  std::vector<std::uint32_t> sample;
  sample.reserve(std::min(count, kSample));
  if (count <= kSample) {
    for (std::size_t i = 0; i < count; ++i) sample.push_back(magnitude_bits(value(i)));
    return sample;
  }
  // One line at a random place of each of equal stretches.
  const std::size_t stretches = kSample / kNeighbours, stretch = count / stretches;
  for (std::size_t s = 0; s < stretches; ++s) {
    const std::size_t from = s * stretch + mix(key + s) % (stretch - kNeighbours + 1);
    for (std::size_t i = 0; i < kNeighbours; ++i) sample.push_back(magnitude_bits(value(from + i)));
  }
  return sample;
}

Threshold sampled_threshold(std::span<std::uint32_t> sample, std::size_t count,
                            std::size_t wanted) {
  CHECK(wanted > 0 && wanted <= count && !sample.empty());
  const double share = static_cast<double>(wanted) / static_cast<double>(count);
  const auto rank = static_cast<std::size_t>(share * static_cast<double>(sample.size()));
  const auto place =
      sample.begin() + static_cast<std::ptrdiff_t>(std::max<std::size_t>(rank, 1) - 1);
  std::nth_element(sample.begin(), place, sample.end(), std::greater<>());
  return {std::bit_cast<float>(std::max(*place, 1U)), kAnyTies};
}

Threshold sampled_threshold(const ValueAt& value, std::size_t count, std::size_t wanted,
                            std::uint64_t key) {
  std::vector<std::uint32_t> sample = sample_magnitudes(value, count, key);
  return sampled_threshold(sample, count, wanted);
}

}  // namespace weft::codec
