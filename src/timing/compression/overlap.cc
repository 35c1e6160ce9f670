#include "timing/compression/overlap.h"

#include <algorithm>
#include <limits>

#include "base/check.h"

namespace weft {
namespace {

constexpr Seconds kNow = 1e-12;  // what is shorter is over

struct Pass {
  std::size_t bucket = 0, number = 0;  // which of its codings, or of its wires
  Seconds left_s = 0;
};

class Overlap {
 public:
  explicit Overlap(const std::vector<AveragePasses>& buckets) : buckets_(buckets) {}

  Seconds run() {
    while (ready_ < buckets_.size() || !coding_.empty() || !waiting_.empty() || on_wire_) {
      settle();
      const Seconds step = next_event();
      if (step == kNever) return now_;
      advance(step);
    }
    return now_;
  }

 private:
  double sharers() const {
    return static_cast<double>(coding_.size()) + (ready_ < buckets_.size() ? 1 : 0);
  }

  // Ends whatever is over and begins what follows from it.
  void settle() {
    bool changed = true;
    while (changed) {
      changed = false;
      if (ready_ < buckets_.size() && buckets_[ready_].computed_s - computed_ <= kNow) {
        coding_.push_back({ready_, 0, buckets_[ready_].coding[0]});
        ++ready_;
        changed = true;
      }
      for (std::size_t i = 0; i < coding_.size(); ++i) {
        if (coding_[i].left_s > kNow) continue;
        const Pass over = coding_[i];
        coding_.erase(coding_.begin() + static_cast<std::ptrdiff_t>(i--));
        const auto& wire = buckets_[over.bucket].wire;
        if (over.number < wire.size()) {
          waiting_.push_back({over.bucket, over.number, wire[over.number]});
        }
        changed = true;
      }
      if (on_wire_ && wire_.left_s <= kNow) {
        const std::size_t next = wire_.number + 1;
        coding_.push_back({wire_.bucket, next, buckets_[wire_.bucket].coding[next]});
        on_wire_ = false;
        changed = true;
      }
      if (!on_wire_ && !waiting_.empty()) {
        const auto latest =
            std::max_element(waiting_.begin(), waiting_.end(),
                             [](const Pass& a, const Pass& b) { return a.bucket < b.bucket; });
        wire_ = *latest;
        waiting_.erase(latest);
        on_wire_ = changed = true;
      }
    }
  }

  Seconds next_event() const {
    Seconds next = kNever;
    if (ready_ < buckets_.size()) {
      next = (buckets_[ready_].computed_s - computed_) * sharers();
    }
    for (const Pass& pass : coding_) next = std::min(next, pass.left_s * sharers());
    if (on_wire_) next = std::min(next, wire_.left_s);
    return next;
  }

  void advance(Seconds step) {
    const Seconds each = sharers() > 0 ? step / sharers() : 0;
    if (ready_ < buckets_.size()) computed_ += each;
    for (Pass& pass : coding_) pass.left_s -= each;
    if (on_wire_) wire_.left_s -= step;
    now_ += step;
  }

  const std::vector<AveragePasses>& buckets_;
  Seconds now_ = 0, computed_ = 0;
  std::size_t ready_ = 0;  // buckets
  std::vector<Pass> coding_, waiting_;
  Pass wire_;
  bool on_wire_ = false;
};

}  // namespace

Seconds averages_end(const std::vector<AveragePasses>& buckets) {
  for (const AveragePasses& bucket : buckets) {
    CHECK(bucket.coding.size() == bucket.wire.size() + 1);
    for (const Seconds pass : bucket.wire) {
      if (pass == kNever) return kNever;
    }
  }
  return Overlap(buckets).run();
}

}  // namespace weft
