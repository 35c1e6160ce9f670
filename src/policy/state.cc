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

}  // namespace weft
