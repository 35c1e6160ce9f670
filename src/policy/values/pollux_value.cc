#include <algorithm>
#include <cmath>
#include <limits>

#include "policy/values/value.h"

namespace weft {
namespace {

// Pollux (OSDI 2021), section 4.2: speedup over an equal share of the cluster, less what a restart
// costs when that means a change, and the power mean of it over the jobs with exponent -1, that is
// the smallest sum of 1/speedup. Pollux was made for like devices and sees the cluster as a pool.
class PolluxValue : public Value {
 public:
  bool blind() const override { return true; }

  double speed(const State& state, const JobState& job, const Offer& offer) const override {
    if (job.report == nullptr) return declared_speed(state, job, offer);
    if (offer.gang.replicas > limit(state, *job.report)) return 0;
    return pooled_goodput(*job.report, offer.gang).value_or(offer.gang.replicas);
  }

  void appraise(Round& round) const override {
    const auto jobs = static_cast<std::int64_t>(round.bidders.size());
    const std::int64_t fair = (round.capacity.front() + jobs - 1) / std::max<std::int64_t>(jobs, 1);
    for (Bidder& bidder : round.bidders) {
      const double base =
          equal_share_speed(bidder, static_cast<int>(std::max<std::int64_t>(fair, 1)));
      const double factor = restart_factor(bidder, round.state->now);
      for (size_t i = 0; i < bidder.offers.size(); ++i) {
        Offer& offer = bidder.offers[i];
        const bool change = bidder.held >= 0 && static_cast<size_t>(bidder.held) != i;
        const double speedup = offer.speed / base * (change ? factor : 1);
        offer.value = offer.speed > 0 ? 1 / kGuard - 1 / (speedup + kGuard) : 0;
      }
    }
  }

 private:
  static constexpr double kGuard = 0.004;  // keeps a job without devices from an infinite cost

  static int fed(const GoodputReport& report) {
    const BatchLimits& limits = report.on_types.front().limits;
    return limits.largest / std::max(limits.local_min, 1);
  }

  // A job may double; it may not outgrow the smallest type, since the pool hides where it will be.
  static int limit(const State& state, const GoodputReport& report) {
    int shown = 0;
    auto smallest = std::numeric_limits<DeviceId>::max();
    for (TypeId type = 0; type < report.on_types.size(); ++type) {
      shown = std::max(shown, report.on_types[type].most_replicas);
      smallest = std::min(smallest, state.cluster().device_count(type));
    }
    return std::min({std::max(2 * shown, 1), static_cast<int>(smallest), fed(report)});
  }

  static double equal_share_speed(const Bidder& bidder, int fair) {
    if (bidder.job->report != nullptr) {
      const int replicas = std::min(fair, fed(*bidder.job->report));
      return std::max(pooled_goodput(*bidder.job->report, {1, replicas}).value_or(fair), 1e-9);
    }
    // Declared rates: that of the nearest size, per device.
    double base = 1e-9;
    int nearest = std::numeric_limits<int>::max();
    for (const Offer& offer : bidder.offers) {
      if (std::abs(offer.devices - fair) >= nearest) continue;
      nearest = std::abs(offer.devices - fair);
      base = std::max(base, offer.speed * fair / offer.devices);
    }
    return base;
  }
};

}  // namespace

std::unique_ptr<Value> pollux_value() { return std::make_unique<PolluxValue>(); }

}  // namespace weft
