// One threshold for everything that a rank sends in a step, however many pieces it is encoded in:
// at a given number of values the most energy goes if the smallest one sent is the same everywhere.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

namespace weft::codec {

// Thread-safety: all methods. What a threshold comes out as does not hang on the order of pieces.
class Budget {
 public:
  // The magnitude that the share `rate` of all values of the step before reached, as its samples
  // say; nothing: there was none yet, and a piece has to find its own.
  std::optional<float> threshold(std::uint64_t step, double rate);
  // What a piece of `count` values holds: bits of the magnitudes of a sample of them. Where they
  // are not finite they do not count.
  void add(std::size_t count, std::span<const std::uint32_t> sample);

 private:
  std::mutex mutex_;
  std::uint64_t step_ = 0;
  std::optional<float> threshold_;
  // Values by the upper half of their bits, which has 128 kinds between a number and its double, in
  // units of 2^-16, so that sums are exact.
  std::vector<std::uint64_t> kinds_;
};

}  // namespace weft::codec
