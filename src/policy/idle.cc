#include "policy/idle.h"

#include "policy/place.h"
#include "policy/services.h"

namespace weft {

void start_something_if_idle(Draft& draft) {
  const State& state = draft.state();
  if (state.placed > 0 || state.waiting == 0 || draft.wake() < kNever) return;
  const PackedPlace anyhow(NodeOrder::kBest, true);
  Allocation allocation;
  for (JobId id : state.active) {
    const JobState& job = state.job(id);
    if (job.phase != Phase::kWaiting) continue;
    if (job.held_back_until > state.now) {
      draft.wake_at(job.held_back_until);
    } else if (place_as_asked(anyhow, state, job, job.spec->min_replicas, allocation)) {
      draft.start(id, std::move(allocation));
      allocation.clear();
    }
  }
}

}  // namespace weft
