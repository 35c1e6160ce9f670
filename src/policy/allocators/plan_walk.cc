#include "policy/allocators/plan_walk.h"

#include <algorithm>

#include "policy/services.h"

namespace weft {
namespace {

// One bit for each device type that will do.
std::uint64_t types_of(const JobState& job, std::uint16_t configuration) {
  if (configuration == 0) return types_as_asked(*job.spec);
  const TypeId type = job.spec->menu->configurations[configuration].type;
  return type == kAnyType ? ~std::uint64_t{0} : std::uint64_t{1} << (type & 63);
}

}  // namespace

bool in_each_others_way(const Allocation& a, const Allocation& b) {
  for (const HostShare& mine : a.hosts) {
    for (const HostShare& theirs : b.hosts) {
      if (mine.node == theirs.node) return true;
    }
  }
  auto left = a.devices.begin();
  auto right = b.devices.begin();
  while (left != a.devices.end() && right != b.devices.end()) {
    if (left->device == right->device) return true;
    (left->device < right->device ? left : right)++;
  }
  return false;
}

PlanWalk::PlanWalk(Draft& draft, const Place& place, const std::vector<Choice>& choices,
                   MayStop may_stop)
    : draft_(draft), place_(place), state_(draft.state()), may_stop_(std::move(may_stop)) {
  std::set<JobId> listed;
  for (const Choice& choice : choices) {
    if (state_.job(choice.job).phase != Phase::kPlaced) continue;
    placed_.push_back({choice.rank, choice.job});
    listed.insert(choice.job);
  }
  for (JobId id : state_.active) {
    if (state_.job(id).phase == Phase::kPlaced && !listed.contains(id)) {
      placed_.push_back({kNever, id});
    }
  }
  const auto began = [&](JobId id) {
    const JobState& job = state_.job(id);
    return job.running ? job.running_since : state_.now;
  };
  std::stable_sort(placed_.begin(), placed_.end(), [&](const Placed& a, const Placed& b) {
    if (a.rank != b.rank) return a.rank > b.rank;
    if (began(a.job) != began(b.job)) return began(a.job) > began(b.job);
    return a.job > b.job;
  });
}

bool PlanWalk::give(const Choice& choice) {
  const JobState& job = state_.job(choice.job);
  if (job.phase == Phase::kEnded) return false;
  const std::uint32_t most = replicas_wanted(job), least = std::min(most, job.spec->min_replicas);
  if (job.phase == Phase::kPlaced) {
    const Allocation& held = job.held;
    const bool same = held.configuration == choice.configuration ||
                      (choice.configuration == 0 && runs_as_asked(*job.spec, held.configuration));
    if (same && held.replicas == most) return true;
    return change(job, choice, most);
  }
  if (job.held_back_until > state_.now) return false;
  const Configuration& c = job.spec->menu->configurations[choice.configuration];
  const Demand demand{types_of(job, choice.configuration),
                      c.devices,
                      c.milli,
                      c.device_memory,
                      c.cpu_milli,
                      c.host_memory,
                      static_cast<int>(c.pack),
                      c.pack_required,
                      job.spec->spot_ok,
                      least};
  if (in_vain_.contains(demand)) return false;
  Allocation found;
  if (!find(job, choice, most, found) && (least == most || !find(job, choice, least, found))) {
    in_vain_.insert(demand);
    return false;
  }
  draft_.start(choice.job, std::move(found));
  return true;
}

bool PlanWalk::change(const JobState& job, const Choice& choice, std::uint32_t replicas) {
  const bool service = job.spec->kind == WorkloadKind::kService;
  if (!service && (!job.spec->preemptible || !may_stop_(job))) return false;
  Allocation before = draft_.stop(choice.job);
  Allocation found;
  const bool changed = find(job, choice, replicas, found);
  draft_.start(choice.job, changed ? std::move(found) : std::move(before));
  if (changed) in_vain_.clear();
  return changed;
}

bool PlanWalk::place(const JobState& job, const Choice& choice, std::uint32_t replicas,
                     Allocation& out) const {
  return choice.configuration == 0 ? place_as_asked(place_, state_, job, replicas, out)
                                   : place_.place(state_, job, choice.configuration, replicas, out);
}

bool PlanWalk::find(const JobState& job, const Choice& choice, std::uint32_t replicas,
                    Allocation& out) {
  return place(job, choice, replicas, out) || evict(job, choice, replicas, out);
}

double PlanWalk::reachable(const Choice& choice, std::uint64_t types) const {
  double devices = 0;
  for (TypeId type = 0; type < state_.cluster().types.size(); ++type) {
    if ((types >> (type & 63)) & 1) devices += state_.ledger.free_whole_of(type);
  }
  for (const Placed& placed : placed_) {
    if (!(placed.rank > choice.rank)) break;
    const JobState& job = state_.job(placed.job);
    if (job.phase != Phase::kPlaced || !job.spec->preemptible || !may_stop_(job)) continue;
    devices += job.held.device_count();
  }
  return devices;
}

bool PlanWalk::evict(const JobState& job, const Choice& choice, std::uint32_t replicas,
                     Allocation& out) {
  const Configuration& wanted = job.spec->menu->configurations[choice.configuration];
  const double needed = static_cast<double>(replicas) * wanted.devices * wanted.milli / kWhole;
  if (reachable(choice, types_of(job, choice.configuration)) + 1e-9 < needed) return false;
  std::vector<std::pair<JobId, Allocation>> stopped;
  bool fits = false;
  for (const Placed& placed : placed_) {
    if (fits || !(placed.rank > choice.rank)) break;
    const JobState& victim = state_.job(placed.job);
    if (placed.job == choice.job || victim.phase != Phase::kPlaced) continue;
    if (!victim.spec->preemptible || !may_stop_(victim)) continue;
    stopped.emplace_back(placed.job, draft_.stop(placed.job));
    fits = place(job, choice, replicas, out);
  }
  for (auto victim = stopped.rbegin(); victim != stopped.rend(); ++victim) {
    if (!fits || !in_each_others_way(victim->second, out)) {
      draft_.start(victim->first, std::move(victim->second));
    }
  }
  if (fits) in_vain_.clear();
  return fits;
}

void PlanWalk::wake_for_held_back(Draft& draft) {
  const State& state = draft.state();
  for (JobId id : state.active) {
    const JobState& job = state.job(id);
    if (job.phase == Phase::kWaiting && job.held_back_until > state.now) {
      draft.wake_at(job.held_back_until);
    }
  }
}

}  // namespace weft
