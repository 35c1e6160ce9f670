// Says why the watched job still waits under minimum satisfactory shares.
#include <fmt/core.h>

#include "policy/allocators/min_share_walk.h"
#include "policy/explain.h"

namespace weft {

void MinShareWalk::explain() const {
  const JobState* const job = to_explain(state_);
  if (job == nullptr) return;
  const auto ahead = static_cast<std::uint32_t>(memory_.plans.size());
  const auto plan = memory_.plans.find(job->id);
  if (plan != memory_.plans.end() && !plan->second.empty()) {
    return explain_waiting(
        draft_, place_, ahead - 1,
        fmt::format("it is admitted and planned from {:.0f} s on", plan->second.front().from));
  }
  explain_waiting(draft_, place_, ahead,
                  fmt::format("it is not admitted and runs only on devices for which nothing is "
                              "planned in the next {:.0f} s",
                              options_.lease));
}

}  // namespace weft
