// Says why the watched job still waits under a list policy.
#include <fmt/core.h>

#include <iterator>

#include "policy/allocators/list_walk.h"
#include "policy/explain.h"

namespace weft {

void ListWalk::explain_watched() {
  const JobState* const job = to_explain(state_);
  if (job == nullptr) return;
  Entry first;
  const Entry own = filed(job->id);
  std::uint32_t ahead = 0;
  for (const std::set<Entry>& queue : memory_.waiting) {
    if (queue.empty()) continue;
    if (first.id == kNoJob || *queue.begin() < first) first = *queue.begin();
    ahead += static_cast<std::uint32_t>(std::distance(queue.begin(), queue.lower_bound(own)));
  }
  std::string why;
  Allocation unused;
  if (!may_start(*job)) {
    why = "a guard does not let it start";
  } else if (first.id != kNoJob && first.id != job->id && fits(*job, unused)) {
    why = fmt::format("job {} is first in the order and does not", state_.job(first.id).spec->name);
  }
  explain_waiting(draft_, *policy_.place_, ahead, why);
}

}  // namespace weft
