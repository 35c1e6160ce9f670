#include "policy/allocators/fill.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "policy/allocators/plan_walk.h"
#include "policy/explain.h"

namespace weft {
namespace {

struct Amounts {
  double devices = 0, cpu_milli = 0, memory = 0;
  void add(const Allocation& held) {
    devices += held.device_count();
    for (const HostShare& host : held.hosts) {
      cpu_milli += host.cpu_milli;
      memory += static_cast<double>(host.memory);
    }
  }
};

Amounts capacity_of(const Cluster& cluster) {
  Amounts all;
  all.devices = cluster.device_count();
  for (const Node& node : cluster.nodes) {
    all.cpu_milli += node.cpu_milli;
    all.memory += static_cast<double>(node.memory);
  }
  return all;
}

double dominant(const Amounts& used, const Amounts& capacity) {
  double share = used.devices / capacity.devices;
  if (capacity.cpu_milli > 0) share = std::max(share, used.cpu_milli / capacity.cpu_milli);
  if (capacity.memory > 0) share = std::max(share, used.memory / capacity.memory);
  return share;
}

struct Tenant {
  double share(const Amounts& capacity) const {
    return weight > 0 ? dominant(used, capacity) / weight : kNever;
  }

  Amounts used;
  double weight = 1;
  std::vector<JobId> waiting;  // in order of arrival
  size_t next = 0;
};

void explain_fill(Draft& draft, const Place& place, const std::map<TenantId, Tenant>& tenants,
                  const Amounts& capacity) {
  const JobState* const job = to_explain(draft.state());
  if (job == nullptr) return;
  const double own = tenants.at(job->spec->tenant).share(capacity);
  std::uint32_t ahead = 0;
  double least = own;
  for (const auto& [id, tenant] : tenants) {
    for (JobId other : tenant.waiting) {
      if (draft.state().job(other).phase != Phase::kWaiting) continue;
      const double share = tenant.share(capacity);
      least = std::min(least, share);
      ahead += id == job->spec->tenant ? other < job->id : share < own;
    }
  }
  explain_waiting(draft, place, ahead,
                  fmt::format("its tenant's dominant share is {:.3f}, the least of those that "
                              "wait {:.3f}",
                              own, least));
}

}  // namespace

void FillPolicy::decide(Draft& draft, const Change&, PolicyMemory&) const {
  const State& state = draft.state();
  const Amounts capacity = capacity_of(state.cluster());
  std::map<TenantId, Tenant> tenants;
  std::vector<Choice> scaling;
  for (JobId id : state.active) {
    const JobState& job = state.job(id);
    if (job.phase == Phase::kEnded) continue;
    Tenant& tenant = tenants[job.spec->tenant];
    if (job.phase == Phase::kPlaced) {
      tenant.used.add(job.held);
      if (job.spec->kind == WorkloadKind::kService) scaling.push_back({id, 0, 0});
    } else if (job.held_back_until <= state.now) {
      tenant.waiting.push_back(id);
    }
  }
  PlanWalk walk(draft, *place_, {}, [](const JobState&) { return false; });
  for (const Choice& service : scaling) walk.give(service);
  for (auto& [id, tenant] : tenants) {
    if (id < options_.weights.size()) tenant.weight = options_.weights[id];
  }
  while (true) {
    Tenant* least = nullptr;
    double share = kNever;
    for (auto& [id, tenant] : tenants) {
      if (tenant.next == tenant.waiting.size()) continue;
      const double own = tenant.share(capacity);
      if (least != nullptr && own >= share) continue;
      share = own;
      least = &tenant;
    }
    if (least == nullptr) break;
    const JobId id = least->waiting[least->next++];
    if (walk.give({id, 0, 0})) {
      least->used.add(state.job(id).held);
    } else if (!options_.pass) {
      break;
    }
  }
  PlanWalk::wake_for_held_back(draft);
  explain_fill(draft, *place_, tenants, capacity);
}

double dominant_share(const State& state, TenantId tenant) {
  Amounts used;
  for (JobId id : state.active) {
    const JobState& job = state.job(id);
    if (job.phase == Phase::kPlaced && job.spec->tenant == tenant) used.add(job.held);
  }
  return dominant(used, capacity_of(state.cluster()));
}

}  // namespace weft
