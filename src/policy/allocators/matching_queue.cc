#include "policy/allocators/matching_queue.h"

#include <fmt/core.h>

#include <algorithm>

#include "policy/allocators/time_share.h"
#include "policy/explain.h"
#include "policy/idle.h"
#include "policy/services.h"
#include "policy/solve/matching.h"

namespace weft {
namespace {

// Seconds the job is believed to take on each type; kNever where it does not fit even when empty.
void append_times(const State& state, const JobState& job, std::vector<double>& times) {
  for (TypeId type = 0; type < state.cluster().types.size(); ++type) {
    const double rate = believed_rate(state.cluster(), *job.spec, type);
    const bool fits = rate > 0 && state.ledger.in_service(type) >= job.spec->requested().devices;
    times.push_back(fits ? std::max(1.0, remaining_work(job, state.now) / rate) : kNever);
  }
}

struct MatchingWindow {
  std::vector<JobId> jobs;
  std::vector<double> times;          // jobs x types
  std::vector<std::size_t> machines;  // by type
};

MatchingWindow make_matching_window(const State& state, std::uint32_t most) {
  MatchingWindow window;
  const size_t types = state.cluster().types.size();
  double devices = 0;
  for (JobId id : state.active) {
    const JobState& job = state.job(id);
    if (job.phase != Phase::kWaiting || job.spec->kind == WorkloadKind::kService) continue;
    if (job.held_back_until > state.now || window.jobs.size() == most) continue;
    append_times(state, job, window.times);
    const auto row = window.times.end() - static_cast<std::ptrdiff_t>(types);
    if (std::all_of(row, window.times.end(), [](double t) { return t == kNever; })) {
      window.times.erase(row, window.times.end());
      continue;
    }
    window.jobs.push_back(id);
    devices += job.spec->requested().devices;
  }
  if (window.jobs.empty()) return window;
  const double each = devices / static_cast<double>(window.jobs.size());
  for (TypeId type = 0; type < types; ++type) {
    const double count = state.ledger.free_whole_of(type) / each;
    window.machines.push_back(state.ledger.in_service(type) == 0
                                  ? 0
                                  : std::max<std::size_t>(1, static_cast<std::size_t>(count)));
  }
  return window;
}

// `types`: what the jobs of the window were matched with; empty: nothing was free to match.
void explain_match(Draft& draft, const Place& place, const std::vector<JobId>& window,
                   const std::vector<TypeId>& types) {
  const State& state = draft.state();
  const JobState* const job = to_explain(state);
  if (job == nullptr) return;
  std::uint32_t ahead = 0;
  for (JobId id : state.active) ahead += id < job->id && state.job(id).phase == Phase::kWaiting;
  std::string why = types.empty() ? "nothing can be matched while no device is free"
                                  : "only the oldest waiting jobs are matched";
  for (size_t i = 0; i < types.size(); ++i) {
    if (window[i] != job->id) continue;
    why = fmt::format("it is matched with a later place in the queue of {}",
                      state.cluster().types[types[i]].name);
  }
  explain_waiting(draft, place, ahead, why);
}

}  // namespace

void MatchingPolicy::decide(Draft& draft, const Change&, PolicyMemory&) const {
  const State& state = draft.state();
  serve_services(draft, place_);
  for (JobId id : state.active) {
    const JobState& job = state.job(id);
    if (job.phase == Phase::kWaiting && job.held_back_until > state.now) {
      draft.wake_at(job.held_back_until);
    }
  }
  if (state.ledger.free_whole_total() == 0) return explain_match(draft, place_, {}, {});
  const MatchingWindow window = make_matching_window(state, options_.window);
  if (window.jobs.empty()) {
    start_something_if_idle(draft);
    return explain_match(draft, place_, {}, {});
  }
  const std::vector<MachineSlot> slots = allox_schedule(window.times, window.machines);
  std::vector<size_t> order(window.jobs.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  // On each type, who delays most others comes first; a job that does not fit lets others pass.
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return slots[a].from_last > slots[b].from_last; });
  for (size_t i : order) {
    const JobState& job = state.job(window.jobs[i]);
    const auto type = static_cast<TypeId>(slots[i].type);
    const int configuration = configuration_on(*job.spec, type);
    Allocation allocation;
    if (place_.place_on(type, state, job, static_cast<std::uint16_t>(configuration), true,
                        allocation)) {
      draft.start(job.id, std::move(allocation));
    }
  }
  start_something_if_idle(draft);
  std::vector<TypeId> types;
  for (const MachineSlot& slot : slots) types.push_back(static_cast<TypeId>(slot.type));
  explain_match(draft, place_, window.jobs, types);
}

}  // namespace weft
