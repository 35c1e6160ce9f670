// How a list policy profiles jobs before it lets them share (Lucid, ASPLOS 2023, non-intrusive
// profiler): a new job first runs alone on one of a few nodes that are kept for this, for some
// minutes at most. Jobs that end within that time are done; the others go on elsewhere.
#include <algorithm>

#include "policy/allocators/list_walk.h"

namespace weft {
namespace {

constexpr const char* kProfileType = "profile";

}  // namespace

TypeId ListWalk::profile_type() const {
  if (policy_.options_.profile <= 0) return kAnyType;
  const std::vector<DeviceType>& types = state_.cluster().types;
  for (TypeId type = 0; type < types.size(); ++type) {
    if (types[type].name == kProfileType) return type;
  }
  return kAnyType;
}

// Training that fits one of the nodes; what does not is never profiled and waits with the others.
bool ListWalk::needs_profile(const JobState& job) const {
  const TypeId type = profile_type();
  const Configuration& c = job.spec->requested();
  if (type == kAnyType || job.spec->kind == WorkloadKind::kService) return false;
  if (memory_.profiled.contains(job.id) || (c.type != kAnyType && c.type != type)) return false;
  return std::any_of(state_.cluster().nodes.begin(), state_.cluster().nodes.end(),
                     [&](const Node& node) {
                       return node.type == type && c.devices <= node.devices &&
                              (job.spec->spot_ok || node.node_class == NodeClass::kOnDemand);
                     });
}

void ListWalk::adopt_profiled(JobId id) {
  const JobState& job = state_.job(id);
  const NodeId node = state_.cluster().node_of(job.held.devices.front().device);
  const bool at_it = state_.cluster().nodes[node].type == profile_type() && needs_profile(job);
  (at_it ? memory_.profiling : memory_.profiled).insert(id);
}

void ListWalk::end_profiles() {
  for (JobId id : std::vector<JobId>(memory_.profiling.begin(), memory_.profiling.end())) {
    const JobState& job = state_.job(id);
    const Seconds left = policy_.options_.profile - job.attained_run_s(state_.now);
    // Far from zero the rest may be below the clock's resolution.
    if (left > 0 && state_.now + left > state_.now) {
      draft_.wake_at(job.running ? state_.now + left : state_.now + policy_.options_.profile);
      continue;
    }
    memory_.profiled.insert(id);
    stop(id);
  }
}

void ListWalk::start_profiles() {
  const TypeId type = profile_type();
  const PackedPlace place(NodeOrder::kBest);
  const auto waiting = memory_.unprofiled;
  for (const auto& [devices, id] : waiting) {
    const JobState& job = state_.job(id);
    Allocation allocation;
    if (!may_start(job) || !place.place_on(type, state_, job, 0, false, allocation)) continue;
    memory_.unprofiled.erase({devices, id});
    draft_.start(id, std::move(allocation));
    file_placed(id);
    memory_.profiling.insert(id);
    draft_.wake_at(state_.now + policy_.options_.profile);
  }
}

// On any device type but the profiling nodes', the fastest first; nowhere else if the job can use
// no other.
bool ListWalk::fits_elsewhere(const JobState& job, Allocation& out) const {
  const TypeId profile = profile_type();
  const Configuration& c = job.spec->requested();
  const std::vector<DeviceType>& types = state_.cluster().types;
  if (types.size() == 1 || c.type == profile) {
    return place_as_asked(*policy_.place_, state_, job, 1, out);
  }
  std::vector<TypeId> order;
  for (TypeId type = 0; type < types.size(); ++type) {
    if (type != profile) order.push_back(type);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](TypeId a, TypeId b) { return types[a].speed > types[b].speed; });
  const PackedPlace place(NodeOrder::kBest);
  return std::any_of(order.begin(), order.end(),
                     [&](TypeId type) { return place.place_on(type, state_, job, 0, false, out); });
}

}  // namespace weft
