// Replicas over time: found again by the next daemon, started again, and what they report.
#include <algorithm>
#include <cmath>

#include "live/daemon/replicas.h"

namespace weft::live {
namespace {

constexpr Seconds kLoadEvery = 1;
constexpr double kLoadStep = 0.05;  // changes below are not told

}  // namespace

bool Replicas::is_open(const std::string& uuid) {
  Service* service = service_of(uuid);
  if (service == nullptr) return false;
  const auto found = service->replicas.find(uuid);
  return found != service->replicas.end() && found->second.state == Replica::State::kUnknown;
}

void Replicas::resume(NodeId node, const Json& runs) {
  for (const Json& run : runs) {
    const std::string uuid = run.at("uuid");
    const std::uint32_t epoch = run.at("epoch");
    Service* service = service_of(uuid);
    if (service == nullptr) continue;
    const auto found = service->replicas.find(uuid);
    if (found == service->replicas.end()) continue;
    Replica& replica = found->second;
    // The newest that some node has; a run before it is a stranger's.
    if (replica.state != Replica::State::kUnknown || epoch < replica.epoch) continue;
    replica.epoch = epoch;
    if (const Json ranks = run.value("ranks", Json::array()); !ranks.empty()) {
      replica.rank = ranks.front().value("rank", -1);
    }
  }
  std::vector<std::pair<JobId, std::string>> missing;
  for (auto& [id, service] : services_) {
    for (auto& [uuid, replica] : service.replicas) {
      if (replica.state != Replica::State::kUnknown) continue;
      replica.unheard.erase(node);
      if (!replica.unheard.empty()) continue;
      const bool met = replica.meets && service.started;  // without it they go on as they are
      if (replica.epoch == 0 && (!replica.wanted || met)) {
        replica.state = Replica::State::kGone;
      } else if (replica.epoch == 0 && service.in_place) {
        replica.state = Replica::State::kWaiting;  // until it is known who else is there
      } else if (replica.epoch == 0) {
        missing.emplace_back(id, uuid);
      } else {
        replica.slot = next_slot_++;
        slots_[replica.slot] = {id, uuid};
        replica.state = Replica::State::kRunning;
        replica.since = links_.runs.now();
        service.ready = service.ready || replica.meets;
        runs_.adopt(view_of(service, replica));
        if (!replica.wanted) stop(service, replica);
      }
    }
  }
  // Runs of replicas whose other nodes have not spoken yet are no strangers.
  Json known = Json::array();
  for (const Json& run : runs) {
    if (!is_open(run.at("uuid"))) known.push_back(run);
  }
  runs_.resume(node, known);
  for (const auto& [uuid, tell] : std::exchange(early_ends_, {})) {
    if (is_open(uuid)) {
      early_ends_.emplace_back(uuid, tell);
    } else {
      tell();
    }
  }
  for (const auto& [id, uuid] : missing) {
    begin(services_.at(id), services_.at(id).replicas.at(uuid));
  }
  settle();
}

void Replicas::report(const std::string& uuid, std::uint32_t epoch, double qps, Seconds latency) {
  Replica* replica = replica_of(uuid, epoch);
  if (replica == nullptr) return;
  replica->qps = qps;
  replica->latency = latency;
}

void Replicas::tell_load(Service& service) {
  const Seconds now = links_.runs.now();
  if (service.pending == CommandKind::kStop || now - service.told_at < kLoadEvery) return;
  double qps = 0;
  Seconds latency = 0;
  for (const auto& [uuid, replica] : service.replicas) {
    if (replica.state != Replica::State::kRunning) continue;
    qps += replica.qps;
    latency = std::max(latency, replica.latency);
  }
  service.told_at = now;
  links_.traffic(service.view.id, qps, latency);
  if (std::abs(qps - service.told_qps) <= kLoadStep * service.told_qps) return;
  service.told_qps = qps;
  Event event;
  event.kind = EventKind::kLoad;
  // Ascending, also over daemons: tenths of seconds of the journal's clock.
  event.number = static_cast<std::uint32_t>(now * 10);
  event.value = qps;
  tell(service, event);
}

void Replicas::tick() {
  const Seconds now = links_.runs.now();
  for (auto& [id, service] : services_) {
    for (auto& [uuid, replica] : service.replicas) {
      const bool lost = std::any_of(replica.nodes.begin(), replica.nodes.end(),
                                    [&](NodeId node) { return service.lost.contains(node); });
      if (replica.state == Replica::State::kWaiting && replica.wanted && !lost &&
          replica.again_at <= now) {
        service.in_place ? replace(service, replica) : begin(service, replica);
      } else if (replica.state == Replica::State::kStarting &&
                 now - replica.since > kStartPatience) {
        runs_.give_up(uuid, replica.epoch, "a node did not answer its start");
      } else if (replica.meets && !service.ready && now - replica.since > kStartPatience) {
        fail(service, {"nobody serves the place where its ranks meet"});
      }
    }
    if (!service.in_place) tell_load(service);
  }
  settle();
}

}  // namespace weft::live
