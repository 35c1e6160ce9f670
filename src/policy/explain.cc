#include "policy/explain.h"

#include <fmt/core.h>

#include <algorithm>

namespace weft {
namespace {

struct Free {
  std::uint32_t devices = 0, on_one_node = 0;
};

// On the device types that the job may use.
Free free_for(const State& state, const JobState& job) {
  const std::uint64_t types = types_as_asked(*job.spec);
  Free free;
  for (TypeId type = 0; type < state.cluster().types.size(); ++type) {
    if ((types >> (type & 63) & 1) == 0) continue;
    free.devices += state.ledger.free_whole_of(type);
    const NodeIndex& index = state.ledger.index(type);
    for (std::uint32_t k = index.max_devices(); k > free.on_one_node; --k) {
      if (index.exact(k) != kNoNode) free.on_one_node = k;
    }
  }
  return free;
}

std::string facts(const State& state, const Place& place, const JobState& job) {
  const Configuration& c = job.spec->requested();
  const Free free = free_for(state, job);
  Allocation unused;
  const std::uint32_t replicas = job.spec->min_replicas;
  std::string needs = fmt::format("needs {} device{}", c.devices, c.devices == 1 ? "" : "s");
  if (c.milli < kWhole)
    needs = fmt::format("needs {} thousandths of {} devices", c.milli, c.devices);
  if (place_as_asked(place, state, job, replicas, unused)) {
    return fmt::format("{} and would fit, {} are free", needs, free.devices);
  }
  if (c.milli == kWhole && free.devices >= c.devices) {
    return fmt::format("{} packed; {} are free, at most {} on one node", needs, free.devices,
                       free.on_one_node);
  }
  return fmt::format("{}; {} are free", needs, free.devices);
}

}  // namespace

const JobState* to_explain(const State& state) {
  if (state.watched >= state.jobs.size()) return nullptr;
  const JobState& job = state.job(state.watched);
  return job.phase == Phase::kWaiting ? &job : nullptr;
}

void explain_waiting(Draft& draft, const Place& place, std::uint32_t ahead,
                     const std::string& why) {
  const State& state = draft.state();
  const JobState& job = *to_explain(state);
  Reason reason{state.now, "", ahead, state.ledger.free_whole_total()};
  if (job.held_back_until > state.now) {
    reason.text = fmt::format("held back until {:.0f} s after {} setbacks", job.held_back_until,
                              job.setbacks);
    reason.ahead = 0;
  } else {
    reason.text = facts(state, place, job);
    if (!why.empty()) reason.text += "; " + why;
  }
  draft.explain(std::move(reason));
}

}  // namespace weft
