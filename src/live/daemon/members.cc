// Jobs that are resized in place: their ranks are runs of their own and form a group of the
// runtime's, which ranks join and leave while the others go on (docs/runtime.md, Membership). One
// run more serves the store through which those that come find those that are there.
#include <fmt/core.h>

#include <algorithm>
#include <iterator>

#include "base/files.h"
#include "live/daemon/replicas.h"

namespace weft::live {
namespace {

constexpr const char* kMeeting = "meeting";
constexpr int kMeetingMilli = 100;  // its weight beside ranks of 1000

}  // namespace

Replicas::Service* Replicas::job_of(const std::string& uuid) {
  Service* service = service_of(uuid);
  return service != nullptr && service->in_place ? service : nullptr;
}

bool Replicas::all_known(const Service& service) const {
  return std::none_of(service.replicas.begin(), service.replicas.end(), [](const auto& entry) {
    return entry.second.state == Replica::State::kUnknown;
  });
}

// It stays in a job's epoch: a change that gives up the first node is none in place.
NodeId Replicas::meeting_node(const Service& service) const {
  return cluster_.node_of(service.view.held.devices.front().device);
}

Replicas::Replica* Replicas::meeting_of(Service& service) {
  const auto found = service.replicas.find(member_uuid(service.view.identity.uuid, kMeeting));
  return found == service.replicas.end() ? nullptr : &found->second;
}

void Replicas::add_meeting(Service& service) {
  Replica meeting;
  meeting.uuid = member_uuid(service.view.identity.uuid, kMeeting);
  meeting.meets = true;
  meeting.wanted = service.view.standing != JobStanding::kStopping;
  meeting.held.configuration = service.view.held.configuration;
  meeting.held.devices = {service.view.held.devices.front()};  // whose node it is on
  meeting.nodes = meeting.unheard = {meeting_node(service)};
  service.replicas.emplace(meeting.uuid, meeting);
}

void Replicas::dress(const std::string& uuid, Json& start) {
  Service* service = job_of(uuid);
  if (service == nullptr) return;
  const auto found = service->replicas.find(uuid);
  if (found == service->replicas.end()) return;
  const Replica& replica = found->second;
  const std::string& job = service->view.identity.uuid;
  const NodeId first = meeting_node(*service);
  const std::string there = links_.runs.address ? links_.runs.address(first) : "";
  const std::string epoch = std::to_string(service->view.epoch);
  const std::string store = port_of(job + "/" + kMeeting, service->view.epoch);
  // Its secret is made of this name by agents, and nobody else can.
  start["group"] = job + "/" + epoch;
  if (replica.meets) {
    start["meet"] = (there.empty() ? "127.0.0.1:" : "0.0.0.0:") + store;
    start["job"]["setup"] = "";
    start["job"]["log_dir"] = path_in(path_in(log_root_, job), kMeeting);
    start["ranks"][0]["devices"] = Json::array();
    start["ranks"][0]["milli"] = kMeetingMilli;
    return;
  }
  Json& environment = start["environment"];
  environment["MASTER_ADDR"] = there.empty() ? "127.0.0.1" : there;
  environment["MASTER_PORT"] = port_of(job, service->view.epoch);
  environment["TORCHELASTIC_RUN_ID"] = environment["WEFT_JOB"] = job;
  environment["TORCHELASTIC_RESTART_COUNT"] = std::to_string(service->view.epoch - 1);
  environment["WEFT_JOB_EPOCH"] = epoch;
  environment["WEFT_STORE"] = fmt::format("{}:{}", there.empty() ? "127.0.0.1" : there, store);
  environment["WEFT_ELASTIC"] =
      fmt::format("{}:{}", service->spec.min_workers, service->spec.max_workers);
  dress_member(*service, replica, start);
}

// Numbers count those that are wanted now; a joiner learns who is really there from the others.
void Replicas::dress_member(const Service& service, const Replica& replica, Json& start) {
  const NodeId own = *replica.nodes.begin();
  std::set<NodeId> nodes;
  int world = 0, here = 0, local = 0;
  for (const auto& [uuid, other] : service.replicas) {
    if (other.meets || !other.wanted) continue;
    const NodeId node = *other.nodes.begin();
    nodes.insert(node);
    ++world;
    here += node == own;
    local += node == own && other.rank >= 0 && other.rank < replica.rank;
  }
  const auto group = std::to_string(std::distance(nodes.begin(), nodes.find(own)));
  Json& environment = start["environment"];
  environment["WORLD_SIZE"] = environment["ROLE_WORLD_SIZE"] = std::to_string(world);
  environment["LOCAL_WORLD_SIZE"] = std::to_string(here);
  environment["GROUP_RANK"] = environment["NODE_RANK"] = group;
  environment["GROUP_WORLD_SIZE"] = std::to_string(nodes.size());
  environment[replica.joins ? "WEFT_JOIN" : "WEFT_MEMBER"] =
      replica.joins ? "1" : std::to_string(replica.rank);
  start["job"]["log_dir"] = path_in(log_root_, service.view.identity.uuid);
  start["ranks"][0]["rank"] = replica.rank;
  start["ranks"][0]["local"] = local;
}

void Replicas::resize_members(Service& service, const Allocation& target) {
  if (service.failure) return;
  std::set<std::string> wanted;
  std::vector<Replica> fresh;
  for (Replica& replica : split(service, target)) {
    wanted.insert(replica.uuid);
    const auto found = service.replicas.find(replica.uuid);
    if (found == service.replicas.end()) {
      fresh.push_back(replica);
    } else if (found->second.held.devices != replica.held.devices) {
      service.pending = CommandKind::kNone;
      Event refused;
      refused.kind = EventKind::kOutcome;
      refused.outcome = Outcome::kRefused;
      return tell(service, refused, "ranks of this executor keep their shares");
    }
  }
  if (!fresh.empty() && service.ending) {
    service.pending = CommandKind::kNone;  // its end answers this too
    return;
  }
  if (!fresh.empty() && meeting_of(service) == nullptr) {
    return fail(service, {"it grows, and nobody serves the place where its ranks meet"});
  }
  service.view.held = target;
  for (Replica& replica : fresh) {
    replica.state = Replica::State::kWaiting;
    service.replicas.emplace(replica.uuid, replica);
  }
  for (auto& [uuid, replica] : service.replicas) {
    if (!replica.meets && !wanted.contains(uuid)) stop(service, replica);
  }
  for (const Replica& replica : fresh) replace(service, service.replicas.at(replica.uuid));
}

void Replicas::ready(const std::string& uuid, std::uint32_t epoch) {
  Service* service = job_of(uuid);
  const Replica* meeting = replica_of(uuid, epoch);
  if (service == nullptr || meeting == nullptr || !meeting->meets) return;
  service->ready = true;
  for (auto& [name, replica] : service->replicas) {
    if (replica.state == Replica::State::kWaiting && replica.failures == 0) {
      replace(*service, replica);
    }
  }
}

void Replicas::begin_members(Service& service) {
  for (auto& [uuid, replica] : service.replicas) {
    replica.state = Replica::State::kWaiting;
    replica.unheard.clear();
  }
  replace(service, *meeting_of(service));
}

void Replicas::replace(Service& service, Replica& replica) {
  if (service.failure || service.ending || !all_known(service)) return;
  if (!service.started && !service.ready && !replica.meets) return;
  const auto runs = [](const auto& entry) {
    return !entry.second.meets && entry.second.state == Replica::State::kRunning;
  };
  const bool others = std::any_of(service.replicas.begin(), service.replicas.end(), runs);
  if (service.started && !replica.meets && (!others || meeting_of(service) == nullptr)) {
    return fail(service, {others ? "nobody serves the place where its ranks meet"
                                 : "none of its ranks is left"});
  }
  replica.joins = service.started && !replica.meets;
  std::set<int> taken;
  for (const auto& [uuid, other] : service.replicas) {
    if (!other.meets && other.uuid != replica.uuid) taken.insert(other.rank);
  }
  if (replica.rank < 0 || taken.contains(replica.rank)) replica.rank = 0;
  while (!replica.meets && taken.contains(replica.rank)) ++replica.rank;
  begin(service, replica);
}

void Replicas::member_ended(Service& service, Replica& replica, const EventRecord& record,
                            const Durable& durable) {
  const bool own = is_own_failure(record.event);
  if (replica.wanted && !replica.meets && record.event.kind == EventKind::kFinished) {
    replica.state = Replica::State::kDone;
    service.ending = true;
    service.ends.push_back(durable);
    return;
  }
  if (!replica.wanted || service.failure) {
    replica.state = Replica::State::kGone;
    return durable();
  }
  const NodeId node = record.event.node;
  if (replica.meets) {
    durable();
    replica.state = Replica::State::kGone;
    if (!service.started) return fail(service, {"where its ranks meet: " + record.why});
    return links_.remark(service.view.id,
                         "the place where its ranks meet is gone: the next change restarts it");
  }
  replica.state = Replica::State::kGone;
  if (!service.started || service.ending) {
    service.ends.push_back(durable);
    if (!service.started) fail(service, {record.why, own, node});
    return;
  }
  const RetryRule& rule = service.spec.retries;
  const Seconds now = links_.runs.now();
  replica.failures = rule.back_off().next_in_row(replica.failures, now - replica.since);
  const bool hopeless = replica.failures > rule.max || meeting_of(service) == nullptr;
  const bool others =
      std::any_of(service.replicas.begin(), service.replicas.end(), [](const auto& entry) {
        const Replica& other = entry.second;
        return !other.meets && other.wanted &&
               (other.state == Replica::State::kRunning || other.state == Replica::State::kUnknown);
      });
  if (hopeless || !others) {
    service.ends.push_back(durable);
    return fail(service, {record.why, own, node});
  }
  durable();
  const Seconds pause = rule.back_off().pause(replica.failures);
  replica.state = Replica::State::kWaiting;
  replica.again_at = now + pause;
  links_.remark(service.view.id, fmt::format("{}; another takes its place{}", record.why,
                                             pause > 0 ? fmt::format(" after {:g} s", pause) : ""));
}

void Replicas::fail(Service& service, Failure failure) {
  if (service.failure) return;
  service.failure = std::move(failure);
  for (auto& [uuid, replica] : service.replicas) {
    if (!replica.meets) stop(service, replica);
  }
}

void Replicas::settle_members(Service& service) {
  std::erase_if(service.replicas, [&](const auto& entry) {
    const Replica& replica = entry.second;
    return replica.state == Replica::State::kGone ||
           (replica.state == Replica::State::kWaiting && service.ending);
  });
  if (!service.failure) tell_lost_members(service);
  bool open = false, lives = false;
  for (const auto& [uuid, replica] : service.replicas) {
    const bool tried = replica.state == Replica::State::kWaiting && replica.failures > 0;
    const bool settled = replica.state == Replica::State::kRunning ||
                         replica.state == Replica::State::kDone || tried;
    open = open || !replica.wanted || !settled;
    lives = lives || (!replica.meets && replica.state != Replica::State::kDone);
  }
  if (!lives) {
    if (Replica* meeting = meeting_of(service)) return stop(service, *meeting);
    return tell_end(service);
  }
  const bool stops = service.pending == CommandKind::kStop;
  if (service.pending == CommandKind::kNone || stops || open || service.failure) return;
  service.pending = CommandKind::kNone;
  service.started = true;
  Event done;
  done.kind = EventKind::kOutcome;
  tell(service, done);
}

// The next start waits, and longer after each failure of the job's own.
std::string Replicas::tell_hold_back(const Service& service, const Failure& failure,
                                     std::uint32_t in_row) {
  const RetryRule& rule = service.spec.retries;
  if (!failure.own || service.view.failures >= rule.max) return failure.why;
  const Seconds pause = rule.back_off().pause(in_row);
  Event event;
  event.kind = EventKind::kHoldBack;
  event.value = links_.runs.now() + pause;
  tell(service, event);
  return failure.why + again_after(pause);
}

// Nothing of it is left.
void Replicas::tell_end(Service& service) {
  const auto forget = [ends = std::move(service.ends)] {
    for (const Durable& end : ends) end();
  };
  const auto done =
      std::count_if(service.replicas.begin(), service.replicas.end(),
                    [](const auto& entry) { return entry.second.state == Replica::State::kDone; });
  const bool well = done >= std::max<std::int64_t>(1, service.spec.min_workers);
  const Failure failure = service.failure.value_or(
      Failure{fmt::format("only {} of its ranks ended well", done), true, kNoNode});
  const bool stops = service.pending == CommandKind::kStop;
  const bool refused = !service.started && service.failure && !failure.own;
  Event event;
  event.kind = EventKind::kOutcome;
  if (!stops && !refused && !service.started) tell(service, event);  // it has begun, and ended
  if (stops) {
    tell(service, event, "", forget);
  } else if (refused) {
    event.outcome = Outcome::kRefused;
    tell(service, event, failure.why, forget);
  } else if (!service.failure && well) {
    event.kind = EventKind::kFinished;
    tell(service, event, "", forget);
  } else {
    const std::uint32_t in_row = service.spec.retries.back_off().next_in_row(
        service.view.failed_in_row, links_.runs.now() - service.since);
    const std::string why = tell_hold_back(service, failure, in_row);
    event.kind = EventKind::kCrashed;
    event.node = failure.node;
    event.number = failure.own ? in_row : 0;
    tell(service, event, why, forget);
  }
  services_.erase(service.view.id);
}

}  // namespace weft::live
