// How a list policy takes devices from placed jobs: for a better job, and for services that grow.
#include <algorithm>

#include "policy/allocators/list_walk.h"
#include "policy/services.h"

namespace weft {

// True if the nodes have the processors and memory for both.
bool ListWalk::has_room_beside(const Allocation& taken, Allocation wanted) const {
  for (HostShare& host : wanted.hosts) {
    for (const HostShare& other : taken.hosts) {
      if (other.node != host.node) continue;
      host.cpu_milli += other.cpu_milli;
      host.memory += other.memory;
    }
  }
  return state_.ledger.has_room(wanted);
}

// Stops placed jobs with larger keys, worst first, until the job fits; then gives back what was
// taken in vain, best first. All or nothing.
bool ListWalk::evict_for(const JobState& job, const Entry& entry, std::uint32_t replicas,
                         Allocation& out) {
  const Configuration& wanted = job.spec->requested();
  double reachable = state_.ledger.free_whole_total();
  const double needed = static_cast<double>(replicas) * wanted.devices * wanted.milli / kWhole;
  std::vector<JobId> victims;
  for (auto placed = memory_.placed.rbegin(); placed != memory_.placed.rend(); ++placed) {
    if (!(entry < *placed)) break;
    const JobState& victim = state_.job(placed->id);
    if (!may_stop(victim)) continue;
    victims.push_back(placed->id);
    reachable += victim.held.device_count();
  }
  if (victims.empty() || reachable + 1e-9 < needed) return false;

  std::vector<std::pair<JobId, Allocation>> stopped;
  bool placed = false;
  for (JobId victim : victims) {
    stopped.emplace_back(victim, stop(victim));
    if (state_.ledger.free_whole_total() + 1e-9 < needed) continue;
    placed = place_as_asked(*policy_.place_, state_, job, replicas, out);
    if (placed) break;
  }
  const auto overlaps = [&](const Allocation& held) {
    return placed && std::any_of(held.devices.begin(), held.devices.end(), [&](const auto& share) {
             return std::binary_search(
                 out.devices.begin(), out.devices.end(), share,
                 [](const DeviceShare& a, const DeviceShare& b) { return a.device < b.device; });
           });
  };
  for (auto victim = stopped.rbegin(); victim != stopped.rend(); ++victim) {
    if (overlaps(victim->second) || (placed && !has_room_beside(out, victim->second))) continue;
    start(victim->first, std::move(victim->second));
  }
  return placed;
}

// Grows and shrinks placed services to the load last seen.
void ListWalk::scale_services() {
  for (JobId id : std::vector<JobId>(memory_.services.begin(), memory_.services.end())) {
    const JobState& job = state_.job(id);
    if (job.phase != Phase::kPlaced) continue;  // another service's growth took its devices
    const std::uint32_t wanted = replicas_wanted(job);
    const Configuration& c = job.spec->requested();
    if (wanted < job.held.replicas) {
      draft_.move(id, with_fewer_replicas(state_.cluster(), c, job.held, wanted));
    }
    while (job.held.replicas < wanted) {
      Allocation extra;
      const bool found =
          place(job, 1, extra) || (policy_.options_.preempt && evict_for(job, filed(id), 1, extra));
      if (!found) break;
      draft_.move(id, with_more_replicas(state_.cluster(), c, job.held, extra));
    }
  }
}

}  // namespace weft
