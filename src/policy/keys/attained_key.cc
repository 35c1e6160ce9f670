#include <algorithm>

#include "policy/keys/keys.h"

namespace weft {
namespace {

class AttainedKey : public Key {
 public:
  AttainedKey(std::vector<double> thresholds, bool by_devices)
      : thresholds_(std::move(thresholds)), by_devices_(by_devices) {
    std::sort(thresholds_.begin(), thresholds_.end());
  }

  KeyValue of(const State& state, const JobState& job) const override {
    const double waits = job.phase == Phase::kPlaced ? 0 : 1;
    return {static_cast<double>(queue(service(state, job))), waits, job.submit};
  }
  Drift drift() const override { return Drift::kStepped; }
  Seconds next_step(const State& state, const JobState& job) const override {
    const double attained = service(state, job);
    const size_t level = queue(attained);
    if (level == thresholds_.size()) return kNever;
    const double per_second = by_devices_ ? job.held.device_count() : 1.0;
    return state.now + (thresholds_[level] - attained) / per_second;
  }

 private:
  double service(const State& state, const JobState& job) const {
    return by_devices_ ? job.attained_device_s(state.now) : job.attained_run_s(state.now);
  }
  // A hair below the threshold counts as past it: the step was scheduled for that moment.
  size_t queue(double attained) const {
    size_t level = 0;
    while (level < thresholds_.size() && attained >= thresholds_[level] * (1 - 1e-12)) ++level;
    return level;
  }

  std::vector<double> thresholds_;
  bool by_devices_;
};

}  // namespace

std::unique_ptr<Key> attained_key(std::vector<double> thresholds, bool by_devices) {
  return std::make_unique<AttainedKey>(std::move(thresholds), by_devices);
}

}  // namespace weft
