#include "live/daemon/board.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <set>

#include <nlohmann/json.hpp>

namespace weft::live {
namespace {

// The member of a JSON object whose value is a text, without parsing the rest: recovery looks at
// every job that ever came. Nothing if it is not there, or has something escaped in it.
std::optional<std::string> plain_member(const std::string& json, std::string_view name) {
  int depth = 0;
  bool is_key = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (c == '{' || c == '[') {
      is_key = c == '{' && ++depth == 1;
      if (c == '[') ++depth;
    } else if (c == '}' || c == ']') {
      --depth;
    } else if (c == ',') {
      is_key = depth == 1;
    } else if (c == '"') {
      const std::size_t from = i + 1;
      bool escaped = false;
      for (++i; i < json.size() && json[i] != '"'; ++i) {
        if (json[i] == '\\') escaped = true, ++i;
      }
      const std::string_view text = std::string_view(json).substr(from, i - from);
      const bool found = is_key && depth == 1 && text == name;
      is_key = false;
      if (!found || json.compare(i, 3, "\":\"") != 0) continue;
      const std::size_t end = json.find('"', i + 3);
      if (escaped || end == std::string::npos) return std::nullopt;
      std::string value = json.substr(i + 3, end - i - 3);
      if (value.find('\\') != std::string::npos) return std::nullopt;
      return value;
    }
  }
  return std::nullopt;
}

// Of a submission that was checked when it came.
std::string queue_of(const std::string& spec) {
  if (auto plain = plain_member(spec, "queue")) return *plain;
  const auto json = nlohmann::json::parse(spec, nullptr, false);
  return json.is_object() ? json.value("queue", "default") : "default";
}

}  // namespace

void Board::add_line(Seconds at, const std::string& uuid, std::string what) {
  story_.push_back({next_line_++, at, uuid, std::move(what)});
  if (story_.size() > kStoryKept) story_.pop_front();
}

void Board::forget_run(JobView& view) {
  view.qps = view.latency = view.idle_s = 0;
  view.remark.clear();
}

void Board::end(JobView& view, Seconds at, JobStanding how, const std::string& why) {
  forget_run(view);
  view.standing = how;
  view.ended = at;
  view.why = why;
  view.held.clear();
  view.resized_from.clear();
  view.frozen_epoch = 0;
  view.frozen.clear();
  pending_.erase(view.id);
  held_next_.erase(view.id);
  add_line(at, view.identity.uuid,
           fmt::format("{} {}{}{}", view.name, kStandingNames[static_cast<int>(how)],
                       why.empty() ? "" : ": ", why));
}

void Board::admit(const EventRecord& record) {
  const std::lock_guard lock(mutex_);
  const Event& e = record.event;
  if (by_uuid_.contains(record.job->uuid)) return;
  auto view = std::make_unique<JobView>();
  view->id = static_cast<JobId>(views_.size());
  view->identity = *record.job;
  view->name = e.submission->name;
  view->queue = queue_of(record.job->spec);
  view->priority = e.submission->priority;
  view->submitted = e.at;
  view->tenant = e.submission->tenant;
  if (e.value2 > 0) {
    view->standing = JobStanding::kHeld;
    view->why = record.why;
  }
  for (const Configuration& c : e.submission->menu->configurations) {
    view->labels.emplace_back(c.codec, c.sync);
  }
  by_uuid_[view->identity.uuid] = view->id;
  by_name_[view->name] = view->id;
  add_line(e.at, view->identity.uuid,
           fmt::format("{} submitted by {}{}{}", view->name, view->identity.user,
                       view->why.empty() ? "" : ", held: ", view->why));
  views_.push_back(std::move(view));
}

void Board::tell(const EventRecord& record) {
  const std::lock_guard lock(mutex_);
  const Event& e = record.event;
  switch (e.kind) {
    case EventKind::kSubmit:
      return;
    case EventKind::kNodeDown:
    case EventKind::kNodeUp:
    case EventKind::kNodeNotice: {
      const char* what = e.kind == EventKind::kNodeDown ? "is out of service"
                         : e.kind == EventKind::kNodeUp ? "is in service"
                                                        : "takes no new work";
      NodeView& node = nodes_[e.node];
      node.in_service = e.kind == EventKind::kNodeUp;
      node.why = record.why;
      if (record.why.starts_with(kDrained)) node.drained = true;
      if (record.why.starts_with(kUndrained)) node.drained = false;
      if (record.why.starts_with(kFenced)) thaw_all(e.node);
      add_line(e.at, "",
               fmt::format("node {} {}{}{}", cluster_.nodes[e.node].name, what,
                           record.why.empty() ? "" : ": ", record.why));
      return;
    }
    case EventKind::kClose: {
      std::erase_if(closures_, [&](const Closure& closure) {
        return closure.number == e.number || closure.until <= e.at;
      });
      const bool opens = e.value >= e.value2;
      const bool for_tenant = e.epoch > 0;
      if (!opens) {
        closures_.push_back({e.number, e.node, e.value, e.value2, for_tenant,
                             static_cast<TenantId>(for_tenant ? e.epoch - 1 : 0)});
      }
      add_line(e.at, "", fmt::format("node {}: {}", cluster_.nodes[e.node].name, record.why));
      return;
    }
    case EventKind::kTick:
    case EventKind::kProgress:
      return;
    default:
      if (e.job < views_.size()) tell_of_job(record);
  }
}

void Board::lose(JobView& view, const Event& lost) {
  if (view.held.empty() || pending_.contains(view.id)) return;  // all of it ends, then
  const Allocation had = std::exchange(view.held, {});
  const bool members = lost.number > 0;
  const std::size_t each = members ? lost.number : had.devices.size() / std::max(1u, had.replicas);
  std::map<NodeId, double> before, after;
  for (const DeviceShare& share : had.devices) before[cluster_.node_of(share.device)] += 1;
  for (std::size_t first = 0; each > 0 && first + each <= had.devices.size(); first += each) {
    const auto begin = had.devices.begin() + static_cast<std::ptrdiff_t>(first);
    const auto end = begin + static_cast<std::ptrdiff_t>(each);
    const auto on = [&](const DeviceShare& share) { return cluster_.node_of(share.device); };
    if (std::any_of(begin, end, [&](const DeviceShare& s) { return on(s) == lost.node; })) continue;
    view.held.devices.insert(view.held.devices.end(), begin, end);
    for (auto at = begin; at != end; ++at) after[on(*at)] += 1;
  }
  if (view.held.devices.empty()) {
    wait_again(view);
    ++view.restarts;
    return;
  }
  view.held.configuration = had.configuration;  // of members: of one with the same labels
  view.held.watts_cap = had.watts_cap;
  view.held.replicas =
      members ? had.replicas : static_cast<std::uint32_t>(view.held.devices.size() / each);
  for (HostShare host : had.hosts) {
    if (!after.contains(host.node)) continue;
    const double part = after[host.node] / before[host.node];
    host.cpu_milli = static_cast<std::uint32_t>(std::lround(host.cpu_milli * part));
    host.memory = static_cast<Bytes>(static_cast<double>(host.memory) * part);
    host.network_limit *= part;
    host.network_guarantee *= part;
    view.held.hosts.push_back(host);
  }
}

void Board::tell_of_job(const EventRecord& record) {
  const Event& e = record.event;
  JobView& v = view(e.job);
  if (has_ended(v.standing)) return;
  switch (e.kind) {
    case EventKind::kWithdraw: {
      const bool failed = record.why.starts_with("failed");
      return end(v, e.at, failed ? JobStanding::kFailed : JobStanding::kCancelled, record.why);
    }
    case EventKind::kLost:
      if (e.epoch == v.epoch) lose(v, e);
      return add_line(
          e.at, v.identity.uuid,
          fmt::format("{} lost {}: {}", v.name, e.number > 0 ? "ranks" : "replicas", record.why));
    case EventKind::kEvict:
      if (v.held.empty()) return;
      v.why = fmt::format("{}: {}", kPreempted, record.why);
      return add_line(e.at, v.identity.uuid, fmt::format("{} {}", v.name, v.why));
    case EventKind::kHold:
      return hold(v, record);
    case EventKind::kRelease:
      held_next_.erase(v.id);
      if (v.standing != JobStanding::kHeld) return;
      v.standing = JobStanding::kQueued;
      v.why.clear();
      return add_line(e.at, v.identity.uuid,
                      fmt::format("{} waits for devices: {}", v.name, record.why));
    case EventKind::kFinished:
      if (e.epoch == v.epoch) end(v, e.at, JobStanding::kFinished, record.why);
      return;
    case EventKind::kCrashed:
      if (e.epoch != v.epoch || v.standing == JobStanding::kQueued ||
          v.standing == JobStanding::kHeld) {
        return;
      }
      v.held.clear();
      v.resized_from.clear();
      ++v.restarts;
      if (is_own_failure(e)) {
        ++v.failures;
        v.failed_in_row = e.number;
      }
      v.why = record.why;
      wait_again(v);
      pending_.erase(v.id);
      return add_line(e.at, v.identity.uuid, fmt::format("{} crashed: {}", v.name, record.why));
    case EventKind::kOutcome:
      return tell_of_outcome(v, record);
    default:
      return;
  }
}

void Board::tell_of_outcome(JobView& v, const EventRecord& record) {
  const Event& e = record.event;
  const auto pending = pending_.find(v.id);
  if (e.epoch != v.epoch || pending == pending_.end() || pending->second.first != e.number) {
    return;
  }
  const CommandKind kind = pending->second.second;
  const bool done = e.outcome == Outcome::kDone;
  if (kind == CommandKind::kStart && done) {
    v.standing = JobStanding::kRunning;
    v.started = std::min(v.started, e.at);
    v.frozen_epoch = 0;  // they run again, or were gone before
    v.frozen.clear();
    add_line(e.at, v.identity.uuid, v.name + " runs");
  } else if (kind == CommandKind::kStart || (kind == CommandKind::kStop && done)) {
    const bool froze = kind == CommandKind::kStop && record.why.starts_with(kFrozenOn);
    if (froze) {
      v.frozen_epoch = e.epoch;
      v.frozen = v.held;
    }
    v.held.clear();
    if (kind == CommandKind::kStop) ++v.restarts;
    if (!done || froze) v.why = record.why;
    if (done && !froze && !v.why.starts_with(kPreempted)) v.why = kPreempted;
    wait_again(v);
    add_line(e.at, v.identity.uuid,
             froze  ? fmt::format("{} {}, waits again", v.name, record.why)
             : done ? v.name + " stopped, waits again"
                    : fmt::format("{} could not start: {}", v.name, record.why));
  }
  if (kind == CommandKind::kResize) {
    if (!done) v.held = v.resized_from;
    v.resized_from.clear();
    add_line(e.at, v.identity.uuid,
             done ? fmt::format("{} is resized to {} devices", v.name, v.held.devices.size())
                  : fmt::format("{} was not resized: {}", v.name, record.why));
  }
  pending_.erase(pending);
}

void Board::command(Seconds at, const Command& c) {
  const std::lock_guard lock(mutex_);
  if (c.job >= views_.size()) return;
  JobView& v = view(c.job);
  if (has_ended(v.standing)) return;
  pending_[c.job] = {c.number, c.kind};
  switch (c.kind) {
    case CommandKind::kStart: {
      v.standing = JobStanding::kStarting;
      v.epoch = c.epoch;
      v.held = *c.allocation;
      v.why.clear();
      forget_run(v);
      std::set<NodeId> nodes;
      for (const DeviceShare& share : v.held.devices) nodes.insert(cluster_.node_of(share.device));
      std::string names;
      for (NodeId node : nodes) names += (names.empty() ? "" : ", ") + cluster_.nodes[node].name;
      return add_line(at, v.identity.uuid,
                      fmt::format("{} starts on {} (epoch {})", v.name, names, c.epoch));
    }
    case CommandKind::kStop:
      v.standing = JobStanding::kStopping;
      return add_line(at, v.identity.uuid, v.name + " is being stopped");
    case CommandKind::kResize:
      v.resized_from = std::exchange(v.held, *c.allocation);
      return add_line(at, v.identity.uuid, v.name + " is being resized");
    case CommandKind::kNone:
      return;
  }
}

void Board::rejected(Seconds at, JobId job, const std::string& why) {
  const std::lock_guard lock(mutex_);
  if (job < views_.size()) end(view(job), at, JobStanding::kRejected, why);
}

void Board::report(JobId job, std::uint32_t epoch, double step, double loss, double rate) {
  const std::lock_guard lock(mutex_);
  if (job >= views_.size() || view(job).epoch != epoch) return;
  view(job).step = step;
  view(job).loss = loss;
  view(job).rate = rate;
}

void Board::traffic(JobId job, double qps, Seconds latency) {
  const std::lock_guard lock(mutex_);
  if (job >= views_.size()) return;
  view(job).qps = qps;
  view(job).latency = latency;
}

void Board::idle(JobId job, std::uint32_t epoch, Seconds idle_s) {
  const std::lock_guard lock(mutex_);
  if (job < views_.size() && view(job).epoch == epoch) view(job).idle_s = idle_s;
}

void Board::remark(JobId job, Seconds at, const std::string& what) {
  const std::lock_guard lock(mutex_);
  if (job >= views_.size() || has_ended(view(job).standing)) return;
  view(job).remark = what;
  if (!what.empty()) {
    add_line(at, view(job).identity.uuid, fmt::format("{}: {}", view(job).name, what));
  }
}

void Board::note(JobId job, Seconds at, const std::string& what) {
  const std::lock_guard lock(mutex_);
  if (job >= views_.size()) return;
  add_line(at, view(job).identity.uuid, fmt::format("{}: {}", view(job).name, what));
}

}  // namespace weft::live
