#include "policy/keys/keys.h"

namespace weft {
namespace {

class RemainingKey : public Key {
 public:
  RemainingKey(bool whole, bool by_devices) : whole_(whole), by_devices_(by_devices) {}

  KeyValue of(const State& state, const JobState& job) const override {
    Seconds time = kNever;
    if (!whole_) {
      time = job.remaining_s(state.now);
    } else if (job.estimate.known()) {
      time = job.estimate.duration;
    }
    return {by_devices_ ? time * job.spec->requested().devices : time, job.submit, 0};
  }
  Drift drift() const override { return whole_ ? Drift::kFixed : Drift::kRunning; }

 private:
  bool whole_, by_devices_;
};

}  // namespace

std::unique_ptr<Key> remaining_key(bool whole, bool by_devices) {
  return std::make_unique<RemainingKey>(whole, by_devices);
}

}  // namespace weft
