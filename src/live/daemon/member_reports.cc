// Members of jobs as others see them: where they are, what they tell, and when none makes a step.
#include <algorithm>

#include "live/daemon/replicas.h"

namespace weft::live {

bool Replicas::hung(const std::string& uuid, std::uint32_t epoch, const std::string& why) {
  Service* service = job_of(uuid);
  if (service == nullptr) return false;
  if (service->view.epoch != epoch || service->failure) return true;
  std::set<NodeId> nodes;
  for (const auto& [name, replica] : service->replicas) nodes.insert(*replica.nodes.begin());
  for (const NodeId node : nodes) {
    Event event;
    event.kind = EventKind::kHoldBack;
    event.value = links_.runs.now();
    event.node = node;
    tell(*service, event);
  }
  fail(*service, {why, true, kNoNode});
  settle();
  return true;
}

bool Replicas::stacks(const std::string& uuid, std::uint32_t epoch, const std::string& why) {
  const Service* service = job_of(uuid);
  if (service == nullptr) return false;
  for (const auto& [name, replica] : service->replicas) {
    if (service->view.epoch == epoch && !replica.meets) runs_.stacks(name, replica.epoch, why);
  }
  return true;
}

RankPlace Replicas::place_of(const std::string& uuid, int rank) {
  const Service* service = job_of(uuid);
  if (service == nullptr || is_part(uuid)) return runs_.place_of(uuid, rank);
  RankPlace place;
  for (const auto& [name, replica] : service->replicas) {
    if (replica.meets || replica.state != Replica::State::kRunning) continue;
    place.ranks = std::max(place.ranks, replica.rank + 1);
    if (replica.rank != rank) continue;
    place.node = *replica.nodes.begin();
    place.epoch = replica.epoch;
    place.run = name;
  }
  return place;
}

std::optional<JobId> Replicas::speaks_for(const std::string& uuid, std::uint32_t epoch) {
  Service* service = job_of(uuid);
  Replica* replica = replica_of(uuid, epoch);
  if (service == nullptr || replica == nullptr || replica->meets) return std::nullopt;
  replica->speaks = true;
  for (const auto& [name, other] : service->replicas) {
    const bool speaks = other.speaks && other.state == Replica::State::kRunning;
    if (speaks && other.rank < replica->rank) return std::nullopt;
  }
  return service->view.id;
}

std::optional<std::pair<JobId, Seconds>> Replicas::idle(const std::string& uuid,
                                                        std::uint32_t epoch, Seconds idle_s) {
  Service* service = job_of(uuid);
  Replica* replica = replica_of(uuid, epoch);
  if (service == nullptr || replica == nullptr || replica->meets) return std::nullopt;
  replica->idle_s = idle_s;
  for (const auto& [name, other] : service->replicas) {
    const bool beside =
        !other.meets && other.nodes == replica->nodes && other.state == Replica::State::kRunning;
    if (beside) idle_s = std::min(idle_s, other.idle_s);
  }
  return std::pair(service->view.id, idle_s);
}

}  // namespace weft::live
