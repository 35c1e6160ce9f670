#include <algorithm>
#include <bit>
#include <cmath>

#include "policy/keys/keys.h"

namespace weft {
namespace {

// The most recent this many of what was learned from, so that a key costs the same for ever.
constexpr size_t kMostSamples = 512;
constexpr size_t kMostQueues = 48;

// The samples of each queue: how many, and their sum.
struct Bins {
  std::vector<double> count = std::vector<double>(kMostQueues);
  std::vector<double> sum = std::vector<double>(kMostQueues);
};

double lower_bound_of(double quantum, size_t queue) {
  return queue == 0 ? 0 : std::ldexp(quantum, static_cast<int>(queue) - 1);
}

// A hair below a bound counts as past it: the step was scheduled for that moment.
size_t queue_of(double quantum, double service) {
  size_t queue = 0;
  while (queue + 1 < kMostQueues && service >= lower_bound_of(quantum, queue + 1) * (1 - 1e-12)) {
    ++queue;
  }
  return queue;
}

double tail_from(const Bins& bins, size_t queue) {
  double tail = 0;
  for (size_t k = queue; k < kMostQueues; ++k) tail += bins.count[k];
  return tail;
}

// The best ratio of the chance to end within the quantum that reaches a later bound, to the
// expected service spent in it.
double index_at(const Bins& bins, double quantum, size_t queue) {
  const double from = lower_bound_of(quantum, queue);
  double ended = 0, spent = 0, best = 0, left = tail_from(bins, queue);
  for (size_t k = queue; k + 1 < kMostQueues && left > 0; ++k) {
    ended += bins.count[k];
    spent += bins.sum[k] - bins.count[k] * from;
    left -= bins.count[k];
    const double expected = spent + left * (lower_bound_of(quantum, k + 1) - from);
    if (expected > 0) best = std::max(best, ended / expected);
  }
  return best;
}

class GittinsKey : public Key {
 public:
  GittinsKey(double quantum, double resolution, double learn_after)
      : quantum_(std::max(1.0, quantum)),
        log_resolution_(std::log(std::max(1.01, resolution))),
        learn_after_(std::max(1.0, learn_after)) {}

  KeyValue of(const State& state, const JobState& job) const override {
    const size_t queue = queue_of(quantum_, job.attained_device_s(state.now));
    const double waits = job.phase == Phase::kPlaced ? 0 : 1;
    return {-grade(state, queue), static_cast<double>(queue) * 2 + waits, job.submit};
  }
  Drift drift() const override { return Drift::kStepped; }
  Seconds next_step(const State& state, const JobState& job) const override {
    const double attained = job.attained_device_s(state.now);
    const size_t queue = queue_of(quantum_, attained);
    if (queue + 1 >= kMostQueues) return kNever;
    const double left = lower_bound_of(quantum_, queue + 1) - attained;
    return state.now + left / job.held.device_count();
  }
  // Learns again whenever the number of ended jobs has doubled.
  std::uint64_t version(const State& state) const override { return learned(state); }

 private:
  size_t learned(const State& state) const {
    const size_t ended = std::bit_floor(state.ended_service_s.size());
    return static_cast<double>(ended) < learn_after_ ? 0 : ended;
  }

  // How many steps of the resolution the index lies above that of a job without service.
  double grade(const State& state, size_t queue) const {
    const size_t samples = learned(state);
    if (samples == 0) return 0;
    Bins bins;
    for (size_t i = samples - std::min(samples, kMostSamples); i < samples; ++i) {
      const double service = state.ended_service_s[i];
      const size_t at = queue_of(quantum_, service);
      bins.count[at] += 1;
      bins.sum[at] += service;
    }
    // Too few samples beyond a bound say little about what lies there.
    while (queue > 0 && tail_from(bins, queue) < learn_after_) --queue;
    const double fresh = index_at(bins, quantum_, 0);
    const double here = index_at(bins, quantum_, queue);
    return fresh > 0 && here > 0 ? std::round(std::log(here / fresh) / log_resolution_) : 0;
  }

  double quantum_, log_resolution_, learn_after_;
};

}  // namespace

double gittins_index(const std::vector<double>& services, double quantum, double attained) {
  Bins bins;
  for (double service : services) {
    const size_t at = queue_of(quantum, service);
    bins.count[at] += 1;
    bins.sum[at] += service;
  }
  return index_at(bins, quantum, queue_of(quantum, attained));
}

std::unique_ptr<Key> gittins_key(double quantum, double resolution, double learn_after) {
  return std::make_unique<GittinsKey>(quantum, resolution, learn_after);
}

}  // namespace weft
