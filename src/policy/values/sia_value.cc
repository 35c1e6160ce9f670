#include <algorithm>
#include <cmath>
#include <limits>

#include "policy/values/value.h"

namespace weft {
namespace {

// Sia (SOSP 2023), section 3.4: goodput in units of the job's slowest way to run, times the fewest
// devices it can run on; less what a restart costs when that means a change; to the power p; a job
// left out costs `unplaced`. Minimising the sum of s^p for p < 0 is choosing with value unplaced -
// s^p.
class SiaValue : public Value {
 public:
  SiaValue(double power, double unplaced) : power_(power), unplaced_(unplaced) {}

  void appraise(Round& round) const override {
    const Seconds now = round.state->now;
    for (Bidder& bidder : round.bidders) {
      double slowest = std::numeric_limits<double>::infinity();
      std::int32_t fewest = std::numeric_limits<std::int32_t>::max();
      for (const Offer& offer : bidder.offers) {
        if (offer.speed <= 0) continue;
        slowest = std::min(slowest, bidder.learning ? 1 : offer.speed);
        fewest = std::min(fewest, offer.devices);
      }
      const Seconds age = now - bidder.job->submit;
      const double factor = age < bidder.restart_s ? 1 : restart_factor(bidder, now);
      for (size_t i = 0; i < bidder.offers.size(); ++i) {
        Offer& offer = bidder.offers[i];
        if (offer.speed <= 0) continue;
        const bool change = bidder.held >= 0 && static_cast<size_t>(bidder.held) != i;
        // Before anything was measured all types look alike.
        const double speed = (bidder.learning ? 1 : offer.speed) * (change ? factor : 1);
        const double normal = fewest * speed / slowest;
        offer.value = normal > kNothing ? std::max(0.0, worth(normal)) : 0;
      }
    }
  }

 private:
  static constexpr double kNothing = 1e-9;
  double worth(double normal) const {
    return power_ < 0 ? unplaced_ - std::pow(normal, power_) : unplaced_ + std::pow(normal, power_);
  }

  double power_, unplaced_;
};

}  // namespace

std::unique_ptr<Value> sia_value(double power, double unplaced) {
  return std::make_unique<SiaValue>(power, unplaced);
}

}  // namespace weft
