// Who computes longer than the others. Pure: fed with each rank's own seconds of each step, which
// are those it did not spend waiting for others.
//
// The rule. A rank's ratio in a step is its seconds by the median of the other ranks', so that what
// slows all of them cancels. Its lasting ratio is the one that it reached in at least 8 of the last
// 10 steps, so that bursts of up to seven steps do not count. It is named when its lasting ratio is
// at least 1.25 and the logarithm of it at least twice the noise: the median, over all ranks and
// the last 64 steps, of how far the logarithm of a ratio lay from that rank's own median
// (times 1.4826, which makes it the deviation of a normal distribution). It is named no longer when
// its lasting ratio is below 1.15.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include "base/units.h"

namespace weft::runtime {

struct SlowRank {
  int rank = 0;
  double ratio = 1;         // lasting
  std::uint64_t since = 0;  // step
};
// "rank 2 computes 3.9x as long as the median of the others since step 120".
std::string in_words(const SlowRank& slow);

class SlowWatch {
 public:
  static constexpr std::size_t kWindow = 10, kNeeded = 8, kNoiseWindow = 64;
  static constexpr double kNamedRatio = 1.25, kClearedRatio = 1.15, kNoiseTimes = 2;
  // Added to all seconds, so that steps of next to nothing do not differ by much.
  static constexpr Seconds kFloor = 100e-6;

  explicit SlowWatch(int ranks);
  // Requires: seconds.size() == ranks. Cost: O(ranks log ranks + steps kept).
  void observe(std::uint64_t step, std::span<const Seconds> seconds);
  // By rank.
  const std::vector<SlowRank>& slow() const { return slow_; }
  int ranks() const { return ranks_; }

 private:
  struct Row {
    std::uint64_t step = 0;
    std::vector<double> logs;  // of ratios, by rank
  };
  double lasting(int rank) const;
  double noise() const;
  void judge(int rank, double noise);

  int ranks_;
  std::deque<Row> rows_;
  std::vector<SlowRank> slow_;
};

// Makes steps of what operations tell: each rank's own time so far, at the same operation. A step
// ends where the user says so or, if he never does, when the ranks computed a millisecond on
// average.
class OwnTimes {
 public:
  explicit OwnTimes(int ranks);
  // `own_us` by rank, modulo 2^32, 0 where unknown. `step` is the user's, 0: none marked.
  void take(std::uint64_t step, std::span<const std::uint32_t> own_us);
  const SlowWatch& watch() const { return watch_; }

 private:
  SlowWatch watch_;
  std::vector<std::uint32_t> before_;
  std::vector<Seconds> seconds_;
  std::uint64_t step_ = 0, counted_ = 0;
};

}  // namespace weft::runtime
