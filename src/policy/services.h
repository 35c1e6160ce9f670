// First claim of services: what a policy that works in rounds does for them before anything else.
#pragma once

#include "policy/draft.h"
#include "policy/place.h"

namespace weft {

// Replicas a service needs for the load last seen, within its bounds; 1 for other workloads.
std::uint32_t replicas_wanted(const JobState& job);

// Starts waiting services and grows or shrinks placed ones to the replicas they need, as far as
// free devices go. Returns true if all have what they need.
bool serve_services(Draft& draft, const Place& place);

// `held` without its last replicas, or with those of `extra` added.
Allocation with_fewer_replicas(const Cluster& cluster, const Configuration& configuration,
                               Allocation held, std::uint32_t replicas);
Allocation with_more_replicas(const Cluster& cluster, const Configuration& configuration,
                              Allocation held, const Allocation& extra);

}  // namespace weft
