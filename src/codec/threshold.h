// The magnitude that a given number of values reach.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace weft::codec {

// `ties`: how many of exactly this magnitude belong to the wanted number.
struct Threshold {
  float magnitude = 0;
  std::size_t ties = 0;
};

// Value i of what is looked at.
using ValueAt = std::function<float(std::size_t)>;

// The `wanted`-th largest of |values[i] + residual[i]| (residual may be null), never below the
// least positive float: zeros are not worth sending. Requires: 0 < wanted <= values.size(). Cost:
// two passes and a selection among one in 2048 kinds of floats.
Threshold exact_threshold(std::span<const float> values, const float* residual, std::size_t wanted);

// Bits of the magnitudes of 65536 of `count` values, at places that `key` draws; of all, where
// there are no more. (Bits, for NaN has no place in an order of floats.)  Cost: a millisecond.
std::vector<std::uint32_t> sample_magnitudes(const ValueAt& value, std::size_t count,
                                             std::uint64_t key);

// The threshold that about `wanted` of `count` values reach, from such a sample, whose order it
// changes. Requires: 0 < wanted <= count, and the sample is not empty.
Threshold sampled_threshold(std::span<std::uint32_t> sample, std::size_t count, std::size_t wanted);
// The same in one.
Threshold sampled_threshold(const ValueAt& value, std::size_t count, std::size_t wanted,
                            std::uint64_t key);

}  // namespace weft::codec
