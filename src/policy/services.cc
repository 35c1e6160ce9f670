#include "policy/services.h"

#include <algorithm>
#include <cmath>

namespace weft {

std::uint32_t replicas_wanted(const JobState& job) {
  if (job.spec->kind != WorkloadKind::kService) return 1;
  const double rate = job.spec->requested().rate;
  const double needed = rate > 0 ? std::ceil(job.load / rate) : job.spec->min_replicas;
  const std::uint32_t least = std::max(job.spec->min_replicas, 1u);
  return static_cast<std::uint32_t>(
      std::clamp<double>(needed, least, std::max(job.spec->max_replicas, least)));
}

Allocation with_fewer_replicas(const Cluster& cluster, const Configuration& configuration,
                               Allocation held, std::uint32_t replicas) {
  // Replicas are runs of the device list; those on the highest-numbered devices go.
  held.devices.resize(size_t{replicas} * configuration.devices);
  held.replicas = replicas;
  fill_hosts(cluster, configuration, held);
  return held;
}

Allocation with_more_replicas(const Cluster& cluster, const Configuration& configuration,
                              Allocation held, const Allocation& extra) {
  held.devices.insert(held.devices.end(), extra.devices.begin(), extra.devices.end());
  std::sort(held.devices.begin(), held.devices.end(),
            [](const DeviceShare& a, const DeviceShare& b) { return a.device < b.device; });
  held.replicas += extra.replicas;
  fill_hosts(cluster, configuration, held);
  return held;
}

bool serve_services(Draft& draft, const Place& place) {
  const State& state = draft.state();
  bool all = true;
  for (JobId id : state.active) {
    const JobState& job = state.job(id);
    if (job.spec->kind != WorkloadKind::kService || job.phase == Phase::kEnded) continue;
    if (job.held_back_until > state.now) {
      draft.wake_at(job.held_back_until);
      continue;
    }
    const std::uint32_t wanted = replicas_wanted(job);
    const Configuration& c = job.spec->requested();
    Allocation next;
    if (job.phase == Phase::kWaiting) {
      if (place.place(state, job, 0, wanted, next) ||
          place.place(state, job, 0, job.spec->min_replicas, next)) {
        draft.start(id, next);
      }
    } else if (wanted < job.held.replicas) {
      draft.move(id, with_fewer_replicas(state.cluster(), c, job.held, wanted));
    }
    while (job.phase == Phase::kPlaced && job.held.replicas < wanted &&
           place.place(state, job, 0, 1, next)) {
      draft.move(id, with_more_replicas(state.cluster(), c, job.held, next));
    }
    all &= job.phase == Phase::kPlaced && job.held.replicas >= wanted;
  }
  return all;
}

}  // namespace weft
