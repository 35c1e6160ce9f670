#include <algorithm>

#include "policy/values/value.h"

namespace weft {
namespace {

// Optimus (EuroSys 2018), section 4.1: the smallest sum of believed remaining times, every job
// having something to run on before any has much. The paper adds one worker at a time where that
// shortens a remaining time most per device; the same objective is put to the solver here.
class OptimusValue : public Value {
 public:
  void appraise(Round& round) const override {
    const Seconds now = round.state->now;
    double longest = 0;
    for (const Bidder& bidder : round.bidders) {
      const double work = believed_work_left(*bidder.job, now);
      for (const Offer& offer : bidder.offers) {
        if (offer.speed > 0) longest = std::max(longest, work / offer.speed);
      }
    }
    for (Bidder& bidder : round.bidders) {
      const double work = believed_work_left(*bidder.job, now);
      for (size_t i = 0; i < bidder.offers.size(); ++i) {
        Offer& offer = bidder.offers[i];
        if (offer.speed <= 0) continue;
        const bool change = static_cast<size_t>(bidder.held) != i;
        const Seconds left = work / offer.speed + (change ? bidder.restart_s : 0);
        // Twice the longest time keeps any offer above none, and worth at least half of any other.
        offer.value = 2 * (longest + bidder.restart_s) - left;
      }
    }
  }
};

}  // namespace

std::unique_ptr<Value> optimus_value() { return std::make_unique<OptimusValue>(); }

}  // namespace weft
