#include "live/daemon/replicas.h"

#include <fmt/core.h>

#include <algorithm>

#include "live/job/job_json.h"

namespace weft::live {
namespace {

constexpr std::string_view kReplica = "-replica-", kMember = "-member-";
constexpr std::uint32_t kStart = 1, kStop = 2;  // numbers of commands to a replica's run
constexpr int kEpochBits = 14;                  // of restarts in one term
constexpr Seconds kMeetingGrace = 5;

// Where the name of the job ends.
std::size_t mark_in(const std::string& uuid) {
  return std::min(uuid.find(kReplica), uuid.find(kMember));
}

std::string replica_name(const std::string& uuid) {
  return uuid.substr(uuid.find(kReplica) + kReplica.size());
}

}  // namespace

bool is_part(const std::string& uuid) { return mark_in(uuid) != std::string::npos; }

std::string replica_uuid(const std::string& service, const std::string& replica) {
  return service + std::string(kReplica) + replica;
}

std::string member_uuid(const std::string& job, const std::string& member) {
  return job + std::string(kMember) + member;
}

bool is_service(const JobIdentity& job) {
  // Quotes inside of texts are escaped, so this is the member itself.
  return job.spec.find("\"kind\":\"service\"") != std::string::npos;
}

bool has_parts(const JobIdentity& job) {
  return is_service(job) || job.spec.find("\"resize\":\"in_place\"") != std::string::npos;
}

Replicas::Replicas(const Cluster& cluster, std::uint64_t term, const std::string& log_root,
                   Links links)
    : cluster_(cluster),
      log_root_(log_root),
      links_(std::move(links)),
      next_epoch_(static_cast<std::uint32_t>(term << kEpochBits) + 1),
      runs_(cluster, term, log_root,
            RunsLinks{links_.runs.send, links_.runs.address,
                      [this](EventRecord record, const Durable& durable) {
                        heard_.emplace_back(std::move(record), durable);
                      },
                      links_.runs.now, nullptr, nullptr,
                      [this](const std::string& uuid, Json& start) { dress(uuid, start); }}) {}

Replicas::Service* Replicas::service_of(const std::string& replica_uuid) {
  const std::string uuid = replica_uuid.substr(0, mark_in(replica_uuid));
  for (auto& [id, service] : services_) {
    if (service.view.identity.uuid == uuid) return &service;
  }
  return nullptr;
}

Replicas::Replica* Replicas::replica_of(const std::string& uuid, std::uint32_t epoch) {
  Service* service = service_of(uuid);
  if (service == nullptr) return nullptr;
  const auto found = service->replicas.find(uuid);
  return found == service->replicas.end() || found->second.epoch != epoch ? nullptr
                                                                          : &found->second;
}

std::vector<Replicas::Replica> Replicas::split(const Service& service,
                                               const Allocation& held) const {
  std::vector<Replica> replicas;
  const std::size_t each = service.in_place ? 1 : held.devices.size() / std::max(1u, held.replicas);
  std::map<NodeId, double> on_node;
  for (const DeviceShare& share : held.devices) on_node[cluster_.node_of(share.device)] += 1;
  std::map<DeviceId, int> seen;
  for (std::size_t first = 0; each > 0 && first + each <= held.devices.size(); first += each) {
    Replica& replica = replicas.emplace_back();
    const DeviceId device = held.devices[first].device;
    const int before = seen[device]++;
    const std::string name =
        before == 0 ? std::to_string(device) : fmt::format("{}-{}", device, before);
    const std::string& job = service.view.identity.uuid;
    replica.uuid = service.in_place ? member_uuid(job, name) : replica_uuid(job, name);
    replica.held.configuration = held.configuration;
    std::map<NodeId, double> mine;
    for (std::size_t i = first; i < first + each; ++i) {
      replica.held.devices.push_back(held.devices[i]);
      mine[cluster_.node_of(held.devices[i].device)] += 1;
    }
    for (const auto& [node, count] : mine) replica.nodes.insert(node);
    for (HostShare host : held.hosts) {
      if (!mine.contains(host.node)) continue;
      const double part = mine[host.node] / on_node[host.node];
      host.cpu_milli = static_cast<std::uint32_t>(host.cpu_milli * part);
      host.memory = static_cast<Bytes>(static_cast<double>(host.memory) * part);
      host.network_limit *= part;
      host.network_guarantee *= part;
      replica.held.hosts.push_back(host);
    }
  }
  return replicas;
}

JobView Replicas::view_of(const Service& service, const Replica& replica) const {
  JobView view = service.view;
  view.id = replica.slot;
  view.identity.uuid = replica.uuid;
  view.epoch = replica.epoch;
  view.held = replica.held;
  view.failures = 0;
  view.standing = JobStanding::kRunning;
  JobSpec spec = service.spec;
  if (service.in_place) {
    spec.workers_per_node = 0;
    spec.retries.max = 0;  // what follows is decided here
    if (replica.meets) {
      spec.checkpoint = {};
      spec.checkpoint.grace = kMeetingGrace;
    }
  } else {
    spec.envs["WEFT_SERVICE"] = service.view.identity.uuid;
    spec.envs["WEFT_REPLICA"] = replica_name(replica.uuid);
    if (spec.service.port > 0) spec.envs["WEFT_PORT"] = std::to_string(spec.service.port);
  }
  view.identity.spec = to_json(spec).dump();
  return view;
}

void Replicas::begin(Service& service, Replica& replica) {
  slots_.erase(replica.slot);
  replica.slot = next_slot_++;
  slots_[replica.slot] = {service.view.id, replica.uuid};
  replica.epoch = next_epoch_++;
  replica.state = Replica::State::kStarting;
  replica.since = links_.runs.now();
  replica.qps = replica.latency = replica.idle_s = 0;
  replica.speaks = false;
  KeptCommand command{CommandKind::kStart, replica.slot, replica.epoch, kStart, kNever,
                      replica.held};
  runs_.carry_out(command, view_of(service, replica));
}

void Replicas::stop(Service& service, Replica& replica) {
  if (replica.state == Replica::State::kDone) return;
  replica.wanted = false;
  if (replica.state == Replica::State::kStopping || replica.state == Replica::State::kGone) return;
  if (replica.state == Replica::State::kWaiting) {
    replica.state = Replica::State::kGone;
    return;
  }
  if (replica.state == Replica::State::kUnknown) return;  // when its nodes have spoken
  replica.state = Replica::State::kStopping;
  KeptCommand command{CommandKind::kStop, replica.slot, replica.epoch, kStop, kNever, {}};
  runs_.carry_out(command, view_of(service, replica));
}

void Replicas::adopt(const JobView& job) {
  if (job.held.empty() || has_ended(job.standing)) return;
  Service& service = services_[job.id];
  service.view = job;
  if (auto spec = spec_from_json(Json::parse(job.identity.spec, nullptr, false)); spec.ok()) {
    service.spec = std::move(*spec);
  }
  service.in_place = service.spec.resize == Resizing::kInPlace;
  service.since = links_.runs.now();
  service.started = job.standing != JobStanding::kStarting;
  if (job.standing == JobStanding::kStopping) service.pending = CommandKind::kStop;
  int rank = 0;
  const auto add = [&](const Allocation& held, bool wanted) {
    for (Replica& replica : split(service, held)) {
      replica.unheard = replica.nodes;
      replica.wanted = wanted;
      if (!service.started) replica.rank = rank++;
      service.replicas.emplace(replica.uuid, std::move(replica));
    }
  };
  add(job.held, job.standing != JobStanding::kStopping);
  // Whoever was before us may not have told those that are to go.
  add(job.resized_from, false);
  if (service.in_place) add_meeting(service);
}

void Replicas::carry_out(const KeptCommand& command, const JobView& job) {
  auto found = services_.find(command.job);
  if (command.kind == CommandKind::kStart && found == services_.end()) {
    JobView started = job;
    started.epoch = command.epoch;
    started.held = command.allocation;
    started.standing = JobStanding::kStarting;
    adopt(started);
    found = services_.find(command.job);
    Service& service = found->second;
    if (service.in_place) begin_members(service);
    for (auto& [uuid, replica] : service.replicas) {
      if (!service.in_place) begin(service, replica);
    }
  }
  if (found == services_.end() || found->second.view.epoch != command.epoch) {
    Service nobody;  // it is gone
    nobody.view = job;
    nobody.view.epoch = command.epoch;
    nobody.number = command.number;
    Event done;
    done.kind = EventKind::kOutcome;
    return tell(nobody, done);
  }
  Service& service = found->second;
  service.number = command.number;
  service.pending = command.kind;
  if (command.kind == CommandKind::kResize && service.in_place) {
    resize_members(service, command.allocation);
  } else if (command.kind == CommandKind::kResize) {
    std::set<std::string> wanted;
    for (Replica& replica : split(service, command.allocation)) {
      wanted.insert(replica.uuid);
      const auto [at, fresh] = service.replicas.emplace(replica.uuid, replica);
      if (fresh) begin(service, at->second);
    }
    for (auto& [uuid, replica] : service.replicas) {
      if (!wanted.contains(uuid)) stop(service, replica);
    }
  } else if (command.kind == CommandKind::kStop) {
    for (auto& [uuid, replica] : service.replicas) {
      if (!replica.meets) stop(service, replica);  // which goes last
    }
  }
  settle();
}

void Replicas::failed(Service& service, Replica& replica, const std::string& why) {
  const RetryRule& rule = service.spec.retries;
  const Seconds now = links_.runs.now();
  replica.failures = rule.back_off().next_in_row(replica.failures, now - replica.since);
  const Seconds pause = rule.back_off().pause(replica.failures);
  replica.state = Replica::State::kWaiting;
  replica.again_at = now + pause;
  links_.remark(service.view.id, fmt::format("replica {} ended{}{}{}", replica_name(replica.uuid),
                                             why.empty() ? "" : ": ", why, again_after(pause)));
}

void Replicas::heard(const EventRecord& record, const Durable& durable) {
  const auto slot = slots_.find(record.event.job);
  if (slot == slots_.end()) return durable();
  const auto found = services_.find(slot->second.first);
  if (found == services_.end()) return durable();
  Service& service = found->second;
  const auto at = service.replicas.find(slot->second.second);
  if (at == service.replicas.end() || at->second.slot != record.event.job) return durable();
  Replica& replica = at->second;
  const Event& e = record.event;
  if (e.kind == EventKind::kHoldBack) return;
  const bool started =
      e.kind == EventKind::kOutcome && e.outcome == Outcome::kDone && e.number == kStart;
  if (started) {
    if (replica.state == Replica::State::kStarting) replica.state = Replica::State::kRunning;
    if (replica.joins) links_.remark(service.view.id, "");  // of the one whose place it takes
    return;
  }
  slots_.erase(slot);
  replica.slot = kNoJob;
  if (service.in_place) return member_ended(service, replica, record, durable);
  durable();  // nothing of it is in the journal: whatever ends is started again
  if (!replica.wanted) {
    replica.state = Replica::State::kGone;
  } else {
    failed(service, replica, record.why);
  }
}

void Replicas::settle() {
  while (!heard_.empty()) {
    const auto [record, durable] = std::move(heard_.front());
    heard_.pop_front();
    heard(record, durable);
  }
  std::vector<JobId> all;
  for (const auto& [id, service] : services_) all.push_back(id);
  for (const JobId id : all) {
    Service& service = services_.at(id);
    service.in_place ? settle_members(service) : settle(service);
  }
}

void Replicas::settle(Service& service) {
  std::erase_if(service.replicas,
                [](const auto& entry) { return entry.second.state == Replica::State::kGone; });
  for (auto at = service.lost.begin(); at != service.lost.end();) {
    const auto on_it = [&](const auto& entry) { return entry.second.nodes.contains(*at); };
    const bool over =
        std::all_of(service.replicas.begin(), service.replicas.end(), [&](const auto& entry) {
          return !on_it(entry) || entry.second.state == Replica::State::kWaiting;
        });
    if (!over) {
      ++at;
      continue;
    }
    std::erase_if(service.replicas, on_it);
    Event event;
    event.kind = EventKind::kLost;
    event.node = *at;
    tell(service, event, fmt::format("node {} is gone", cluster_.nodes[*at].name));
    at = service.lost.erase(at);
  }
  bool open = false;
  for (const auto& [uuid, replica] : service.replicas) {
    const bool answered =
        replica.state == Replica::State::kRunning || replica.state == Replica::State::kWaiting;
    open = open || !replica.wanted || !answered;
  }
  if (service.pending == CommandKind::kNone) {
    if (service.replicas.empty()) services_.erase(service.view.id);
    return;
  }
  const bool stops = service.pending == CommandKind::kStop;
  if (stops ? !service.replicas.empty() : open) return;
  Event done;
  done.kind = EventKind::kOutcome;
  service.pending = CommandKind::kNone;
  tell(service, done);
  if (stops || service.replicas.empty()) services_.erase(service.view.id);
}

void Replicas::tell(const Service& service, Event event, const std::string& why, Durable durable) {
  event.job = service.view.id;
  event.epoch = service.view.epoch;
  if (event.kind == EventKind::kOutcome) event.number = service.number;
  EventRecord record;
  record.event = event;
  record.why = why;
  links_.runs.post(std::move(record), durable ? std::move(durable) : Durable([] {}));
}

void Replicas::outcome(NodeId node, const std::string& uuid, std::uint32_t epoch,
                       std::uint32_t number, const std::string& result, const std::string& why) {
  runs_.outcome(node, uuid, epoch, number, result, why);
  settle();
}

void Replicas::ended(NodeId node, const std::string& uuid, std::uint32_t epoch, int rank, int code,
                     int signal, const std::string& why) {
  if (is_open(uuid)) {
    early_ends_.emplace_back(
        uuid, [=, this] { runs_.ended(node, uuid, epoch, rank, code, signal, why); });
    return;
  }
  runs_.ended(node, uuid, epoch, rank, code, signal, why);
  settle();
}

void Replicas::gone(NodeId node, bool all, const std::string& why) {
  for (auto& [id, service] : services_) {
    if (!all && service.spec.on_controller_loss != ControllerLoss::kStop) continue;
    if (service.in_place) {
      lose_members(service, node, why);
      continue;
    }
    for (auto& [uuid, replica] : service.replicas) {
      if (!replica.nodes.contains(node)) continue;
      service.lost.insert(node);
      if (replica.state == Replica::State::kUnknown) replica.state = Replica::State::kWaiting;
    }
  }
  runs_.gone(node, all, why);
  settle();
}

bool Replicas::signal(const std::string& uuid, int number) {
  bool any = false;
  for (const auto& [id, service] : services_) {
    if (service.view.identity.uuid != uuid) continue;
    for (const auto& [name, replica] : service.replicas) {
      if (!replica.meets) any |= runs_.signal(name, number);
    }
  }
  return any;
}

}  // namespace weft::live
