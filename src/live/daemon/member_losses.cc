// Nodes that are lost under jobs resized in place.
#include <fmt/core.h>

#include <algorithm>

#include "live/daemon/replicas.h"

namespace weft::live {

void Replicas::lose_members(Service& service, NodeId node, const std::string& why) {
  const auto is_on_it = [&](const Replica& replica) { return replica.nodes.contains(node); };
  std::int64_t stay = 0, run = 0;
  bool any_wanted = false;  // there; who leaves is gone sooner now
  for (auto& [uuid, replica] : service.replicas) {
    const bool open = replica.state == Replica::State::kUnknown;
    if (is_on_it(replica)) {
      any_wanted = any_wanted || replica.wanted;
      if (open && !replica.wanted) replica.state = Replica::State::kGone;
    } else if (!replica.meets) {
      ++stay;
      run += replica.state == Replica::State::kRunning;
    }
  }
  if (!any_wanted) return;
  const bool plain = service.started && !service.failure && !service.ending &&
                     service.pending == CommandKind::kNone && all_known(service);
  const bool goes_on = plain && meeting_node(service) != node && run > 0 &&
                       stay >= std::max<std::int64_t>(1, service.spec.min_workers);
  if (goes_on) service.lost.insert(node);
  for (auto& [uuid, replica] : service.replicas) {
    if (!is_on_it(replica)) continue;
    if (goes_on) replica.wanted = false;
    const bool is_nowhere = replica.state == Replica::State::kUnknown ||
                            (goes_on && replica.state == Replica::State::kWaiting);
    if (is_nowhere) replica.state = Replica::State::kGone;
  }
  if (goes_on) return;
  fail(service, {fmt::format("node {}: {}", cluster_.nodes[node].name, why), false, node});
}

void Replicas::tell_lost_members(Service& service) {
  for (auto at = service.lost.begin(); at != service.lost.end();) {
    const NodeId node = *at;
    if (std::any_of(service.replicas.begin(), service.replicas.end(),
                    [&](const auto& entry) { return entry.second.nodes.contains(node); })) {
      ++at;
      continue;
    }
    at = service.lost.erase(at);
    Allocation& held = service.view.held;
    std::erase_if(held.devices,
                  [&](const DeviceShare& share) { return cluster_.node_of(share.device) == node; });
    std::erase_if(held.hosts, [&](const HostShare& host) { return host.node == node; });
    Event event;
    event.kind = EventKind::kLost;
    event.node = node;
    event.number = 1;  // device of each rank
    tell(service, event, fmt::format("node {} is gone", cluster_.nodes[node].name));
  }
}

}  // namespace weft::live
