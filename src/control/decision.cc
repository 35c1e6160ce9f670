#include "control/decision.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

namespace weft {
namespace {

Error misfit(JobId id, const char* what) {
  return {ErrorKind::kInvalidInput, fmt::format("a recorded decision {} job {}", what, id),
          "the record is not of this cluster, or a part of it is missing"};
}

// Nodes that were announced to go may still be held by who was there.
bool is_untaken(const State& state, const Allocation& held) {
  return std::all_of(held.devices.begin(), held.devices.end(), [&](const DeviceShare& share) {
    return share.milli > 0 && state.ledger.used_milli(share.device) + share.milli <= kWhole;
  });
}

}  // namespace

Decision decision_of(const Draft& draft) {
  Decision decision;
  std::set<JobId> seen;
  for (JobId id : draft.touched()) {
    if (seen.insert(id).second) decision.held.emplace_back(id, draft.state().job(id).held);
  }
  decision.rejected = draft.rejected();
  decision.wake = draft.wake();
  return decision;
}

Status apply(const Decision& decision, Draft& draft) {
  const State& state = draft.state();
  // Everything is taken before anything is given: jobs may have changed places.
  for (const auto& [id, held] : decision.held) {
    if (id >= state.jobs.size()) return misfit(id, "is about an unknown");
    if (state.job(id).phase == Phase::kEnded) return misfit(id, "is about the ended");
    if (state.job(id).phase == Phase::kPlaced) draft.stop(id);
  }
  for (const auto& [id, held] : decision.held) {
    if (held.empty()) continue;
    const Menu& menu = *state.job(id).spec->menu;
    if (held.configuration >= menu.configurations.size()) {
      return misfit(id, "chooses a configuration that is not on the menu of");
    }
    for (const DeviceShare& share : held.devices) {
      if (share.device >= state.cluster().device_count()) {
        return misfit(id, "gives a device that the cluster has not got to");
      }
    }
    if (!is_untaken(state, held)) return misfit(id, "gives what is not free to");
    draft.start(id, held);
  }
  for (const auto& [id, why] : decision.rejected) {
    if (id >= state.jobs.size() || state.job(id).phase != Phase::kWaiting) {
      return misfit(id, "rejects a job that does not wait,");
    }
  }
  return {};
}

}  // namespace weft
