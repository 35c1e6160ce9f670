// Summaries of many numbers.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace weft {

struct Summary {
  double mean = 0, p50 = 0, p95 = 0, p99 = 0, max = 0;
};

// Percentile p is the value that p per cent of the values come before when sorted, the convention
// of the simulators this project is compared with. Cost: O(n log n).
Summary summarize(std::vector<double> values);

// Counts of durations in buckets 1/16 of an octave wide (4.4 % resolution), for percentiles of
// millions of samples in constant memory.
class DurationHistogram {
 public:
  void add_ns(std::int64_t ns);
  // The upper edge, in seconds, of the bucket that holds percentile `p` (0..100); 0 when empty.
  double percentile_s(double p) const;
  std::int64_t count() const { return count_; }

 private:
  static constexpr int kPerOctave = 16;
  std::array<std::int64_t, 64 * kPerOctave> buckets_{};
  std::int64_t count_ = 0;
};

}  // namespace weft
