// Says why the watched job still waits.
#include <fmt/format.h>

#include <algorithm>

#include "policy/allocators/list_walk.h"

namespace weft {

void ListWalk::explain_watched() {
  const JobId id = state_.watched;
  if (id >= state_.jobs.size() || state_.job(id).phase != Phase::kWaiting) return;
  const JobState& job = state_.job(id);
  const Configuration& c = job.spec->requested();
  Reason reason{state_.now, "", 0, state_.ledger.free_whole_total()};
  Entry first;
  const Entry own = filed(id);
  for (const std::set<Entry>& queue : memory_.waiting) {
    if (queue.empty()) continue;
    if (first.id == kNoJob || *queue.begin() < first) first = *queue.begin();
    reason.ahead +=
        static_cast<std::uint32_t>(std::distance(queue.begin(), queue.lower_bound(own)));
  }
  std::uint32_t largest = 0;
  for (TypeId type = 0; type < state_.cluster().types.size(); ++type) {
    if (c.type != kAnyType && c.type != type) continue;
    const NodeIndex& index = state_.ledger.index(type);
    for (std::uint32_t k = index.max_devices(); k > largest; --k) {
      if (index.exact(k) != kNoNode) largest = k;
    }
  }
  Allocation unused;
  if (job.held_back_until > state_.now) {
    reason.text = fmt::format("held back until {:.0f} s after {} setbacks", job.held_back_until,
                              job.setbacks);
  } else if (!may_start(job)) {
    reason.text = "a guard (quota) does not let it start";
  } else if (fits(job, unused)) {
    reason.text = fmt::format("it would fit, but job {} is first in the order and does not",
                              state_.job(first.id).spec->name);
  } else if (reason.free_devices >= c.devices) {
    reason.text = fmt::format("needs {} devices packed; {} are free, at most {} on one node",
                              c.devices, reason.free_devices, largest);
  } else {
    reason.text = fmt::format("needs {} devices; {} are free", c.devices, reason.free_devices);
  }
  draft_.explain(std::move(reason));
}

}  // namespace weft
