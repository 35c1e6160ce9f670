#include "flow/partition.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "base/check.h"

namespace weft {
namespace {

// The wire as gap_blocks() foresees it.
class GapPlanner {
 public:
  GapPlanner(std::span<const ReadyTensor> tensors, double bytes_per_s, Seconds overhead,
             double most)
      : tensors_(tensors), bytes_per_s_(bytes_per_s), overhead_(overhead), most_(most) {
    for (std::uint32_t i = 0; i < tensors.size(); ++i) {
      left_.push_back(tensors[i].bytes);
      if (tensors[i].bytes > 0) coming_.insert({tensors[i].ready, i});
    }
  }

  std::vector<std::vector<Piece>> plan() {
    std::vector<std::vector<Piece>> blocks;
    while (!coming_.empty() || !ready_.empty()) {
      release();
      const Seconds next = next_urgent();
      const bool last = next == kNever;
      const double least = overhead_ * bytes_per_s_;
      const double budget =
          last ? most_ : std::min(most_, (next - now_ - overhead_) * bytes_per_s_);
      if (!last && budget < std::max(least, 1.0)) {
        now_ = next;  // too short a gap for a message: better that the wire waits
        continue;
      }
      // A gap is filled; without one, only what together is not worth a message is joined.
      blocks.push_back(fill(budget, last ? std::min(least, budget) : kNoLimit));
      double bytes = 0;
      for (const Piece& piece : blocks.back()) bytes += piece.bytes;
      now_ += overhead_ + bytes / bytes_per_s_;
    }
    return blocks;
  }

 private:
  // Moves what is ready by now; if nothing is, time goes on to the first that will be.
  void release() {
    if (ready_.empty() && !coming_.empty()) now_ = std::max(now_, coming_.begin()->first);
    while (!coming_.empty() && coming_.begin()->first <= now_) {
      const std::uint32_t i = coming_.begin()->second;
      ready_.insert({tensors_[i].key, i});
      coming_.erase(coming_.begin());
    }
  }

  // When the next tensor comes that is needed before the most urgent ready one.
  Seconds next_urgent() const {
    for (const auto& [at, i] : coming_) {
      if (tensors_[i].key < ready_.begin()->first) return at;
    }
    return kNever;
  }

  std::vector<Piece> fill(double most, double joined) {
    std::vector<Piece> block;
    double bytes = 0;
    while (!ready_.empty() && bytes < most) {
      const std::uint32_t i = ready_.begin()->second;
      if (!block.empty() && bytes + left_[i] > joined) break;
      double part = std::min(left_[i], most - bytes);
      if (left_[i] - part < 1) part = left_[i];
      left_[i] -= part;
      bytes += part;
      block.push_back({i, part});
      if (left_[i] <= 0) ready_.erase(ready_.begin());
    }
    return block;
  }

  std::span<const ReadyTensor> tensors_;
  double bytes_per_s_;
  Seconds overhead_;
  double most_;
  Seconds now_ = 0;
  std::vector<double> left_;
  std::set<std::pair<Seconds, std::uint32_t>> coming_;
  std::set<std::pair<double, std::uint32_t>> ready_;
};

}  // namespace

std::vector<double> slice_sizes(double bytes, double most) {
  CHECK(bytes > 0 && most > 0);
  if (bytes <= most) return {bytes};
  const double wanted = std::ceil(bytes / most);
  if (wanted > kMostSlices) {
    return std::vector<double>(kMostSlices, bytes / double{kMostSlices});
  }
  std::vector<double> sizes(static_cast<std::size_t>(wanted), most);
  sizes.back() = bytes - most * (wanted - 1);
  if (sizes.back() <= 0) sizes.pop_back();
  return sizes;
}

std::vector<std::vector<Piece>> gap_blocks(std::span<const ReadyTensor> tensors, double bytes_per_s,
                                           Seconds overhead, double most) {
  CHECK(bytes_per_s > 0 && most > 0);
  return GapPlanner(tensors, bytes_per_s, overhead, most).plan();
}

}  // namespace weft
