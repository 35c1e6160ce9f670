#include "sim/feasible.h"

#include <fmt/core.h>

#include <set>

#include "policy/place.h"

namespace weft {

Status check_feasible(const Cluster& cluster, const Trace& trace) {
  const State empty(cluster);
  const PackedPlace anyhow(NodeOrder::kFirst, true);
  std::set<const Menu*> known;
  Complaints complaints;
  for (const TraceJob& traced : trace.jobs) {
    const Submission& spec = *traced.submission;
    const bool plain = spec.spot_ok && spec.min_replicas == 1;
    if (plain && known.contains(spec.menu.get())) continue;
    JobState job;
    job.spec = traced.submission;
    Allocation unused;
    bool fits = false;
    for (std::uint16_t c = 0; c < spec.menu->configurations.size() && !fits; ++c) {
      fits = anyhow.place(empty, job, c, spec.min_replicas, unused);
    }
    if (!fits) {
      const Configuration& c = spec.requested();
      const std::string type = c.type == kAnyType ? "" : cluster.types[c.type].name + " ";
      complaints.add(fmt::format(
          "{}: job {} asks for {}{} {}devices; the cluster {} has {}{}", trace.path, spec.name,
          spec.min_replicas > 1 ? fmt::format("{} x ", spec.min_replicas) : "", c.devices, type,
          cluster.text, cluster.device_count(c.type),
          cluster.device_count(c.type) >= c.devices ? ", but not packed as it asks" : ""));
    } else if (plain) {
      known.insert(spec.menu.get());
    }
  }
  if (complaints.empty()) return {};
  return complaints.error("take a larger --cluster, or leave those jobs out");
}

Error stuck_error(const State& state, const Policy& policy) {
  std::string first;
  for (JobId id : state.active) {
    const JobState& job = state.job(id);
    if (job.phase == Phase::kEnded) continue;
    if (first.empty()) {
      first = fmt::format("{} ({} devices)", job.spec->name, job.spec->requested().devices);
    }
  }
  return Error{ErrorKind::kInvalidInput,
               fmt::format("policy {} left {} jobs waiting for ever at {:.0f} s; the first is {}",
                           policy.name(), state.waiting, state.now, first),
               "its placement can never give them what they ask for; try --place first-fit, or a "
               "larger --cluster"};
}

}  // namespace weft
