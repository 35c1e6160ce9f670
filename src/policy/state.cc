#include "policy/state.h"

#include <algorithm>

namespace weft {

Seconds JobState::remaining_s(Seconds now) const {
  if (!estimate.known()) return kNever;
  if (spec->adaptation != Adaptation::kNone && spec->declared_work > 0) {
    // Its speed changes as it goes, so seconds done say less than the part of the work.
    return estimate.duration * std::max(0.0, 1 - believed_work(now) / spec->declared_work);
  }
  const double rate = spec->requested().rate;
  const double done_s = rate > 0 ? believed_work(now) / rate : attained_run_s(now);
  return std::max(0.0, estimate.duration - done_s);
}

bool State::may_begin_on(NodeId node, const JobState& job) const {
  for (const Closure& closure : closures) {
    if (closure.node != node || closure.until <= now) continue;
    if (closure.for_tenant && closure.tenant == job.spec->tenant) continue;
    if (closure.from <= now) return false;
    const Seconds left = job.remaining_s(now);
    if (left < kNever ? now + left > closure.from : !job.spec->preemptible) return false;
  }
  return true;
}

}  // namespace weft
