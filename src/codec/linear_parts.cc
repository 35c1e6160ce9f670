#include "codec/linear_parts.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "codec/sparse_kernels.h"

namespace weft::codec {
namespace {

Error not_finite(std::size_t at, float value) {
  return Error{ErrorKind::kInvalidInput,
               fmt::format("value {} is {}; only finite gradients can be compressed", at, value),
               "skip the step, or lower the loss scale"};
}

}  // namespace

Status accumulate(std::span<const float> values, std::span<float> residual) {
  // Nothing reaches an infinite threshold, so all of it stays.
  const float infinity = std::numeric_limits<float>::infinity();
  for (std::size_t at = 0; at < values.size(); at += kChunk) {
    const std::size_t n = std::min(kChunk, values.size() - at);
    Chosen none;
    std::size_t bad =
        at + sparse_kernels().choose(values.data() + at, residual.data() + at, n, infinity, none);
    if (bad == at + n) continue;
    take_out(values.first(bad), residual);
    while (std::isfinite(values[bad] + residual[bad])) ++bad;
    return not_finite(bad, values[bad]);
  }
  return {};
}

void take_out(std::span<const float> values, std::span<float> residual) {
  for (std::size_t i = 0; i < values.size(); ++i) residual[i] -= values[i];
}

Status check_finite(std::span<const float> values) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (std::size_t at = 0; at < values.size(); at += kChunk) {
    const std::size_t n = std::min(kChunk, values.size() - at);
    Chosen none;
    std::size_t bad = at + sparse_kernels().choose(values.data() + at, nullptr, n, infinity, none);
    if (bad == at + n) continue;
    while (std::isfinite(values[bad])) ++bad;
    return not_finite(bad, values[bad]);
  }
  return {};
}

CodecState state_with_residual(const Codec& codec, std::size_t size, const Place& place) {
  CodecState state{codec.text(), size, place, 0, {}, {}};
  state.local.emplace_back(size, 0.0F);
  return state;
}

std::size_t kept_of(double rate, std::size_t count) {
  if (count == 0) return 0;
  const auto kept = static_cast<std::size_t>(std::llround(rate * static_cast<double>(count)));
  return std::clamp<std::size_t>(kept, 1, count);
}

}  // namespace weft::codec
