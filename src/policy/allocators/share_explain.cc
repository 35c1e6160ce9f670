// Says why the watched job still waits under a share policy.
#include <fmt/core.h>

#include "policy/allocators/share_round.h"
#include "policy/explain.h"

namespace weft {

void ShareRound::explain_watched(Seconds round_ends) {
  const JobState* const job = to_explain(state_);
  if (job == nullptr) return;
  const UnitRow* mine = nullptr;
  TypeId best = 0;
  bool computed = false;
  for (const auto& [unit, row] : memory_.units) {
    if (!unit.holds(job->id) || row.fraction.empty()) continue;
    computed = true;
    for (TypeId type = 0; type < types(); ++type) {
      if (mine != nullptr && row.fraction[type] <= mine->fraction[best]) continue;
      mine = &row;
      best = type;
    }
  }
  std::string why = "services take what is free";
  std::uint32_t ahead = 0;
  if (computed) {
    const auto due = [&](const UnitRow& of) { return of.fraction[best] / of.received_s[best]; };
    for (const auto& [unit, row] : memory_.units) {
      ahead += !unit.holds(job->id) && !row.fraction.empty() && due(row) > due(*mine);
    }
    why = fmt::format("its share of the time on {} is {:.3f}; the next round begins at {:.0f} s",
                      state_.cluster().types[best].name, mine->fraction[best], round_ends);
  } else if (memory_.rows.contains(job->id)) {
    why = fmt::format("it has no share yet; shares are computed anew from {:.0f} s on",
                      std::max(round_ends, memory_.computed_at + policy_.options_.refresh));
  }
  explain_waiting(draft_, policy_.place_, ahead, why);
}

}  // namespace weft
