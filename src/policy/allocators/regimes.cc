#include "policy/allocators/regimes.h"

#include <algorithm>

namespace weft {

void Regimes::observe(const JobState& job, Seconds now) {
  const double done = job.believed_work(now);
  if (job.running && job.observed_rate > 0 && !job.held.empty()) {
    const double rate = job.spec->menu->configurations[job.held.configuration].rate;
    if (rate > 0) speed_ = job.observed_rate / rate;
  }
  // Less than before: a crash undid some; what was learned of the regimes stays.
  if (done > seen_) work_at_[speed_] += done - seen_;
  seen_ = done;
}

Seconds Regimes::time_left(const JobState& job, Seconds now) const {
  const double rate = job.spec->requested().rate;
  const double all = job.spec->declared_work;
  const double left = std::max(0.0, all - job.believed_work(now));
  if (job.spec->adaptation != Adaptation::kAccordion || work_at_.size() < 2) {
    return left / (rate * speed_);
  }
  double done = 0;
  for (const auto& [speed, work] : work_at_) done += work;
  const double prior = all / static_cast<double>(work_at_.size());
  double seconds = 0, expected = 0;
  for (const auto& [speed, work] : work_at_) {
    const double more = std::max(0.0, all * (prior + work) / (all + done) - work);
    expected += more;
    seconds += more / (rate * speed);
  }
  // What is left in all is known; only its parts are not.
  return expected > 0 ? seconds * left / expected : left / (rate * speed_);
}

}  // namespace weft
