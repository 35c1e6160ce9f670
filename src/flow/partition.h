// Hook 2 of a flow scheduler: in what pieces, and how many bytes may be under way at a time.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/units.h"

namespace weft {

inline constexpr double kNoLimit = std::numeric_limits<double>::infinity();

// Slices of `most` bytes and what remains. Requires: bytes > 0, most > 0. Ensures: they add up to
// `bytes`; there are at most kMostSlices (larger slices are made when there would be more).
std::vector<double> slice_sizes(double bytes, double most);
inline constexpr std::uint32_t kMostSlices = 100'000;

// Part of a tensor in a message.
struct Piece {
  std::uint32_t tensor = 0;
  double bytes = 0;
};

// A tensor as it comes out of the backward pass.
struct ReadyTensor {
  Seconds ready = 0;
  double bytes = 0;  // from 0; one of 0 is left out
  double key = 0;    // the least is needed first
};

// Messages sized by the time there is: while more urgent tensors are still to come, a message holds
// as much of the most urgent ready ones as the wire moves until the next of those is ready, so that
// none ever waits for a lesser one; then each tensor goes by itself, in order, joined with the
// next while both together take less time than a message's overhead. The idea of gradient blocks
// from bandwidth and predicted gaps is Prophet's (Zhang et al., ICPP '21). Requires: bytes_per_s >
// 0, most > 0. Ensures: every byte is in one piece; messages are in the order in which they should
// go and hold at most `most` bytes.
std::vector<std::vector<Piece>> gap_blocks(std::span<const ReadyTensor> tensors, double bytes_per_s,
                                           Seconds overhead, double most);

// How much of a queue may be under way: more hides the latency of each message, less lets an urgent
// message overtake sooner (the credit of ByteScheduler, Peng et al., SOSP '19).
class CreditWindow {
 public:
  explicit CreditWindow(double bytes) : limit_(bytes) {}
  // One message is always allowed.
  bool admits(double bytes) const { return count_ == 0 || bytes_ + bytes <= limit_; }
  void take(double bytes) {
    ++count_;
    bytes_ += bytes;
  }
  void give(double bytes) {
    --count_;
    bytes_ = count_ == 0 ? 0 : bytes_ - bytes;
  }

 private:
  double limit_;
  double bytes_ = 0;
  std::uint32_t count_ = 0;
};

}  // namespace weft
