#include "policy/allocators/time_share.h"

#include <algorithm>

#include "policy/allocators/share_round.h"
#include "policy/idle.h"
#include "policy/services.h"

namespace weft {

int configuration_on(const Submission& spec, TypeId type) {
  const Configuration& asked = spec.requested();
  for (size_t i = 0; i < spec.menu->configurations.size(); ++i) {
    const Configuration& c = spec.menu->configurations[i];
    if ((c.type == type || c.type == kAnyType) && c.devices == asked.devices &&
        c.milli == asked.milli) {
      return static_cast<int>(i);
    }
  }
  return -1;
}

double believed_rate(const Cluster& cluster, const Submission& spec, TypeId type) {
  const int index = configuration_on(spec, type);
  if (index < 0) return 0;
  const Configuration& c = spec.menu->configurations[static_cast<size_t>(index)];
  return c.rate * (c.type == kAnyType ? cluster.types[type].speed : 1.0);
}

double remaining_work(const JobState& job, Seconds now) {
  const double rate = job.spec->requested().rate;
  const double done = job.believed_work(now);
  const double left =
      job.estimate.known() ? job.estimate.duration * rate - done : std::max(done, kHour * rate);
  return std::max(left, 1e-6 * rate);
}

void TimeSharePolicy::decide(Draft& draft, const Change& change, PolicyMemory& base) const {
  auto& memory = static_cast<TimeShareMemory&>(base);
  ShareRound round(*this, draft, memory);
  round.fold(change);
  if (memory.round_ends != kNever && draft.now() < memory.round_ends) {
    draft.wake_at(memory.round_ends);
    round.explain_watched(memory.round_ends);
    return;
  }
  round.account();
  if (memory.rows.empty() && draft.state().waiting == 0 && draft.state().placed == 0) {
    memory.round_ends = kNever;
    memory.computed = false;
    return;
  }
  round.compute_shares();
  round.run();
  start_something_if_idle(draft);
  memory.round_ends = draft.now() + options_.round;
  draft.wake_at(memory.round_ends);
  round.explain_watched(memory.round_ends);
}

}  // namespace weft
