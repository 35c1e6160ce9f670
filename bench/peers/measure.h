// The one way in which every library's all-reduce is measured. A library gives its operations as a
// `Measured`; what it gets back is the text to print.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "base/stopwatch.h"

namespace weft {

// Seconds that the timed iterations of one size should take; the counts below come first.
inline constexpr double kMeasureBudgetS = 0.5;
inline constexpr int kLeastIterations = 3, kMostIterations = 400;

// One rank's view of the library under measurement.
struct Measured {
  int rank = 0, ranks = 1;
  // Sums in place over all ranks; called by every rank with the same count.
  std::function<void(float* data, std::size_t count)> all_reduce;
  std::function<void()> barrier;
};

// Inputs whose sum is exact in fp32 whatever the order: small whole numbers, different on every
// rank, in a pattern whose prime length matches no library's chunks, so that a chunk that is lost,
// doubled or put elsewhere shows. `turn` shifts the pattern: a stale result is wrong too.
class ExactSums {
 public:
  static constexpr std::size_t kPeriod = 4093;
  static constexpr int kMostRanks = 16384;  // up to here a sum stays below 2^24

  ExactSums(int rank, int ranks, int turn) : input_(kPeriod), sum_(kPeriod) {
    for (std::size_t i = 0; i < kPeriod; ++i) {
      input_[i] = value(i, rank, turn);
      for (int r = 0; r < ranks; ++r) sum_[i] += value(i, r, turn);
    }
  }
  void fill(std::vector<float>& data) const {
    for (std::size_t at = 0; at < data.size(); at += kPeriod) {
      std::memcpy(&data[at], input_.data(), bytes_from(at, data));
    }
  }
  // Elements that are not the sum.
  std::uint64_t count_wrong(const std::vector<float>& data) const {
    std::uint64_t wrong = 0;
    for (std::size_t at = 0; at < data.size(); at += kPeriod) {
      const std::size_t bytes = bytes_from(at, data);
      if (std::memcmp(&data[at], sum_.data(), bytes) == 0) continue;
      for (std::size_t i = 0; i < bytes / sizeof(float); ++i) wrong += data[at + i] != sum_[i];
    }
    return wrong;
  }

 private:
  static float value(std::size_t i, int rank, int turn) {
    const std::size_t mixed =
        i * 37 + static_cast<std::size_t>(rank) * 211 + static_cast<std::size_t>(turn) * 1009;
    return static_cast<float>(mixed % 1021) - 510;
  }
  static std::size_t bytes_from(std::size_t at, const std::vector<float>& data) {
    return std::min(kPeriod, data.size() - at) * sizeof(float);
  }
  std::vector<float> input_, sum_;
};

namespace measure_detail {

// Rank 0's number on every rank, by the library's own sum: the others add zero.
inline int agree(const Measured& library, int mine) {
  std::vector<float> numbers(1024, 0.0F);  // every library's plain case; one element is not
  numbers[0] = library.rank == 0 ? static_cast<float>(mine) : 0.0F;
  library.all_reduce(numbers.data(), numbers.size());
  return std::clamp(static_cast<int>(std::lround(numbers[0])), kLeastIterations, kMostIterations);
}

struct Timed {
  double seconds = 0, cpu_s = 0;
};
inline Timed once(const Measured& library, std::vector<float>& data) {
  const double cpu_before = process_cpu_seconds();
  library.barrier();
  const std::int64_t begin = monotonic_ns();
  library.all_reduce(data.data(), data.size());
  const std::int64_t end = monotonic_ns();
  return {static_cast<double>(end - begin) * 1e-9, process_cpu_seconds() - cpu_before};
}

// Rank 0's guess of how many iterations fill the budget, after warming up.
inline int choose_iterations(const Measured& library, std::vector<float>& data) {
  constexpr std::size_t kSmallElements = 1 << 18;
  std::vector<double> seconds(data.size() <= kSmallElements ? 9 : 1);
  for (double& one : seconds) {
    const std::int64_t begin = monotonic_ns();
    once(library, data);
    one = static_cast<double>(monotonic_ns() - begin) * 1e-9;
  }
  std::sort(seconds.begin(), seconds.end());
  const double fits = kMeasureBudgetS / std::max(seconds[seconds.size() / 2], 1e-9);
  return static_cast<int>(std::clamp<double>(fits, kLeastIterations, kMostIterations));
}

inline std::string one_size(const Measured& library, std::size_t size_bytes) {
  // Zeros stay zeros in a sum, so the iterations between the checked ones need no new input.
  std::vector<float> data(size_bytes / sizeof(float), 0.0F);
  const int iterations = agree(library, choose_iterations(library, data));
  std::string times;
  double cpu_s = 0;
  std::uint64_t wrong = 0;
  for (int i = 0; i < iterations; ++i) {
    const bool checked = i == 0 || i == iterations - 1;
    const ExactSums sums(library.rank, checked ? library.ranks : 0, i);
    if (checked) sums.fill(data);
    const Timed timed = once(library, data);
    cpu_s += timed.cpu_s;
    times += fmt::format("{}{:.4g}", i == 0 ? "" : ",", timed.seconds);
    if (!checked) continue;
    wrong += sums.count_wrong(data);
    std::fill(data.begin(), data.end(), 0.0F);
  }
  return fmt::format(
      "{{\"rank\":{},\"size_bytes\":{},\"times_s\":[{}],\"cpu_s\":{:.6g},\"iterations\":{},"
      "\"wrong\":{}}}\n",
      library.rank, size_bytes, times, cpu_s, iterations, wrong);
}

}  // namespace measure_detail

// Measures every size, on every rank at the same time: warms up, then times iterations with a
// barrier before each, and checks the first and the last one's sums. CPU seconds are user and
// system of the whole process in the timed iterations, barriers included. Requires: the same sizes
// on all ranks, each a multiple of 4 bytes; at most ExactSums::kMostRanks. Ensures: one line of
// JSON for each size.
inline std::string measure_all_reduce(const Measured& library,
                                      const std::vector<std::size_t>& sizes_bytes) {
  std::string lines;
  for (const std::size_t bytes : sizes_bytes) lines += measure_detail::one_size(library, bytes);
  return lines;
}

}  // namespace weft
