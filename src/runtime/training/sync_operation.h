// An average of a Synchroniser under way.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "runtime/training/synchroniser.h"

namespace weft::runtime {

inline constexpr std::uint32_t kSyncStream = (1u << 27);  // and above: one for each fragment
// Values that go through the codec at a time, so that coding one piece hides moving another.
inline constexpr std::size_t kPiece = 4 << 20;
inline constexpr std::uint32_t kMostPieces = 4096;

// The number under which the codec knows the first piece of such an average.
inline std::uint32_t first_bucket(sync::What what, std::uint32_t fragment) {
  return (what == sync::What::kGradients ? 0 : 1 + fragment) * kMostPieces;
}

struct Synchroniser::Operation {
  sync::Action action;
  std::vector<float> sum;  // what this rank gives, then the sum; with neighbours what it gives
  std::size_t coded = 0;   // values of `sum` that went through the codec and are means
  std::vector<std::vector<float>> heard;  // with neighbours: by place in action.ranks
  std::vector<Group::WorkPtr> works;
  // What the codec remembered of each piece before, where steps go on meanwhile: a state that is
  // saved then begins the average again.
  std::map<std::uint32_t, std::optional<BucketState>> before;
  bool arrived = false;
  Status failure;  // it has arrived as nothing

  bool done() {
    for (const auto& work : works) {
      if (!work->done()) return false;
    }
    return true;
  }
  // Until nothing uses the memory any more. Gives the first error.
  Status wait_all() {
    Status first;
    for (const auto& work : works) {
      if (Status status = work->wait(); !status.ok() && first.ok()) first = status;
    }
    return first;
  }
  Status finish(int ranks) {
    if (Status status = wait_all(); !status.ok()) return status;
    for (std::size_t i = 0; i < coded; ++i) sum[i] *= static_cast<float>(ranks);
    arrived = true;
    return {};
  }
  void drop(const Status& why) {
    failure = why;
    std::fill(sum.begin(), sum.end(), 0.0F);
    arrived = true;
  }
};

}  // namespace weft::runtime
