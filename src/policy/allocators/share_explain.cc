// Says why the watched job still waits under a share policy.
#include <fmt/format.h>

#include "policy/allocators/share_round.h"
#include "policy/explain.h"

namespace weft {

void ShareRound::explain_watched(Seconds round_ends) {
  const JobState* const job = to_explain(state_);
  if (job == nullptr) return;
  const auto found = memory_.rows.find(job->id);
  std::string why = "services take what is free";
  std::uint32_t ahead = 0;
  if (found != memory_.rows.end() && found->second.fraction.empty()) {
    why = fmt::format("it has no share yet; shares are computed anew from {:.0f} s on",
                      std::max(round_ends, memory_.computed_at + policy_.options_.refresh));
  } else if (found != memory_.rows.end()) {
    const Row& row = found->second;
    TypeId best = 0;
    for (TypeId type = 1; type < types(); ++type) {
      if (row.fraction[type] > row.fraction[best]) best = type;
    }
    const auto due = [&](const Row& of) { return of.fraction[best] / of.received_s[best]; };
    for (const auto& [id, other] : memory_.rows) {
      if (id != job->id && !other.fraction.empty() && due(other) > due(row)) ++ahead;
    }
    why = fmt::format("its share of the time on {} is {:.3f}; the next round begins at {:.0f} s",
                      state_.cluster().types[best].name, row.fraction[best], round_ends);
  }
  explain_waiting(draft_, policy_.place_, ahead, why);
}

}  // namespace weft
