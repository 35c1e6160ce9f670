#include "policy/values/value.h"

#include <algorithm>

namespace weft {

double declared_speed(const State& state, const JobState& job, const Offer& offer) {
  const Configuration& c = job.spec->menu->configurations[offer.configuration];
  const double speed = c.rate * c.efficiency;
  return c.type == kAnyType ? speed * state.cluster().types[offer.type].speed : speed;
}

double Value::speed(const State& state, const JobState& job, const Offer& offer) const {
  if (job.report == nullptr) return declared_speed(state, job, offer);
  if (offer.gang.replicas > replicas_limit(*job.report)) return 0;
  const std::optional<double> goodput = believed_goodput(*job.report, offer.type, offer.gang);
  return goodput ? *goodput : declared_speed(state, job, offer);
}

ChooseResult Value::settle(const Round&, const ChooseProblem& problem,
                           std::span<const double> warm_price) const {
  return choose(problem, warm_price);
}

double believed_work_left(const JobState& job, Seconds now) {
  const double rate = job.spec->requested().rate;
  const double done = job.believed_work(now);
  if (!job.estimate.known()) return std::max(done, 60 * rate);
  const double whole = job.estimate.duration * rate;
  return std::max(whole - done, std::min(60 * rate, whole / 50));
}

double restart_factor(const Bidder& bidder, Seconds now) {
  const Seconds age = now - bidder.job->submit;
  const Seconds lost = bidder.job->restarts * bidder.restart_s;
  const Seconds whole = age + bidder.restart_s;
  return whole > 0 ? std::max(age - lost, 0.0) / whole : 1;
}

}  // namespace weft
