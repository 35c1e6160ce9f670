#include "control/dispatch.h"

#include <algorithm>

#include "base/check.h"
#include "model/same_ranks.h"

namespace weft {
namespace {

bool awaits_outcome(Standing standing) {
  return standing == Standing::kStarting || standing == Standing::kResizing ||
         standing == Standing::kStopping;
}

// Ranks only come, or only go, and those of the first node stay: there they meet.
bool can_change_members(const Cluster& cluster, const JobState& job, const Allocation& used) {
  const std::vector<Configuration>& menu = job.spec->menu->configurations;
  const Allocation& held = job.held;
  if (!job.spec->in_place || held.watts_cap != used.watts_cap ||
      !same_members(menu[held.configuration], menu[used.configuration]) ||
      cluster.node_of(held.devices.front().device) !=
          cluster.node_of(used.devices.front().device)) {
    return false;
  }
  const bool grows = held.devices.size() > used.devices.size();
  const std::vector<DeviceShare>& more = grows ? held.devices : used.devices;
  const std::vector<DeviceShare>& fewer = grows ? used.devices : held.devices;
  return std::includes(more.begin(), more.end(), fewer.begin(), fewer.end(),
                       [](const DeviceShare& a, const DeviceShare& b) {
                         return std::pair(a.device, a.milli) < std::pair(b.device, b.milli);
                       });
}

// A change that keeps ranks alive: another share of the same devices, other processors or memory
// beside them, a service that scales, or a job whose ranks come and go.
bool can_resize(const Cluster& cluster, const JobState& job, const Allocation& used) {
  if (job.spec->kind == WorkloadKind::kService) {
    return job.held.configuration == used.configuration;
  }
  if (can_change_members(cluster, job, used)) return true;
  const std::vector<Configuration>& menu = job.spec->menu->configurations;
  return same_ranks(menu[job.held.configuration], menu[used.configuration]) &&
         std::equal(job.held.devices.begin(), job.held.devices.end(), used.devices.begin(),
                    used.devices.end(), [](const DeviceShare& a, const DeviceShare& b) {
                      return a.device == b.device;
                    });
}

// Both ends of a resize: every device of either, with the larger share, and so for hosts.
Allocation covering(const Allocation& from, const Allocation& to) {
  Allocation both = to;
  for (const DeviceShare& share : from.devices) {
    const auto at = std::lower_bound(
        both.devices.begin(), both.devices.end(), share,
        [](const DeviceShare& a, const DeviceShare& b) { return a.device < b.device; });
    if (at == both.devices.end() || at->device != share.device) {
      both.devices.insert(at, share);
    } else {
      at->milli = std::max(at->milli, share.milli);
    }
  }
  for (const HostShare& host : from.hosts) {
    const auto at = std::find_if(both.hosts.begin(), both.hosts.end(),
                                 [&](const HostShare& other) { return other.node == host.node; });
    if (at == both.hosts.end()) {
      both.hosts.push_back(host);
    } else {
      at->cpu_milli = std::max(at->cpu_milli, host.cpu_milli);
      at->memory = std::max(at->memory, host.memory);
    }
  }
  return both;
}

}  // namespace

Dispatch::Dispatch(const Cluster& cluster, State& state, Executor& executor, Seconds timeout,
                   Journal* journal)
    : state_(state),
      executor_(executor),
      timeout_(timeout),
      journal_(journal),
      used_milli_(cluster.device_count()),
      used_host_(cluster.nodes.size()) {}

void Dispatch::use(const Allocation& allocation, int sign) {
  for (const DeviceShare& share : allocation.devices) {
    used_milli_[share.device] =
        static_cast<std::int16_t>(used_milli_[share.device] + sign * static_cast<int>(share.milli));
  }
  for (const HostShare& host : allocation.hosts) {
    used_host_[host.node].cpu_milli += sign * static_cast<std::int64_t>(host.cpu_milli);
    used_host_[host.node].memory += sign * static_cast<std::int64_t>(host.memory);
  }
}

void Dispatch::set_used(Pursuit& pursuit, Allocation allocation) {
  use(pursuit.used, -1);
  pursuit.used = std::move(allocation);
  use(pursuit.used, +1);
}

void Dispatch::settle_change(Pursuit& pursuit, bool done) {
  if (pursuit.change == nullptr) return;
  set_used(pursuit, std::move(done ? pursuit.change->to : pursuit.change->from));
  pursuit.change.reset();
}

bool Dispatch::unused(JobId job, const Allocation& wanted) const {
  const std::vector<DeviceShare>& own = pursuits_[job].used.devices;
  size_t next = 0;
  for (const DeviceShare& share : wanted.devices) {
    int used = used_milli_[share.device];
    while (next < own.size() && own[next].device < share.device) ++next;
    if (next < own.size() && own[next].device == share.device) used -= own[next].milli;
    if (used + share.milli > static_cast<int>(kWhole)) return false;
  }
  return std::all_of(wanted.hosts.begin(), wanted.hosts.end(), [&](const HostShare& host) {
    const Node& node = state_.cluster().nodes[host.node];
    HostUse use = used_host_[host.node];
    for (const HostShare& mine : pursuits_[job].used.hosts) {
      if (mine.node != host.node) continue;
      use.cpu_milli -= mine.cpu_milli;
      use.memory -= static_cast<std::int64_t>(mine.memory);
    }
    use.cpu_milli += host.cpu_milli;
    use.memory += static_cast<std::int64_t>(host.memory);
    return (node.cpu_milli == 0 || use.cpu_milli <= node.cpu_milli) &&
           (node.memory == 0 || use.memory <= static_cast<std::int64_t>(node.memory));
  });
}

Command Dispatch::command_of(JobId job, CommandKind kind) const {
  const Pursuit& pursuit = pursuits_[job];
  const Allocation* allocation = kind == CommandKind::kStart    ? &pursuit.used
                                 : kind == CommandKind::kResize ? &pursuit.change->to
                                                                : nullptr;
  return {kind, job, pursuit.epoch, pursuit.number, state_.now + timeout_, allocation};
}

void Dispatch::send(JobId job, CommandKind kind, Standing standing) {
  Pursuit& pursuit = pursuits_[job];
  pursuit.standing = standing;
  ++pursuit.number;
  pursuit.refused = false;
  const Command command = command_of(job, kind);
  due_.push_back({command.deadline, job, command.number});
  if (journal_ != nullptr) journal_->command(state_.now, command);
  executor_.execute(command);
}

void Dispatch::pursue(JobId id) {
  Pursuit& pursuit = pursuits_[id];
  if (awaits_outcome(pursuit.standing)) return;
  const JobState& job = state_.job(id);
  const bool wanted = job.phase == Phase::kPlaced;
  if (pursuit.standing == Standing::kIdle && !wanted) return;
  if (pursuit.standing == Standing::kRunning) {
    if (wanted && job.held == pursuit.used) return;
    if (!wanted || !can_resize(state_.cluster(), job, pursuit.used)) {
      return send(id, CommandKind::kStop, Standing::kStopping);
    }
  }
  if (!unused(id, job.held)) {
    if (!pursuit.blocked) blocked_.push_back(id);
    pursuit.blocked = true;
    return;
  }
  if (pursuit.standing == Standing::kIdle) {
    set_used(pursuit, job.held);
    ++pursuit.epoch;
    return send(id, CommandKind::kStart, Standing::kStarting);
  }
  pursuit.change = std::make_unique<Pursuit::Change>(Pursuit::Change{pursuit.used, job.held});
  set_used(pursuit, covering(pursuit.used, job.held));
  send(id, CommandKind::kResize, Standing::kResizing);
}

void Dispatch::retry_blocked() {
  if (blocked_.empty()) return;
  std::vector<JobId> blocked;
  blocked.swap(blocked_);
  for (JobId id : blocked) pursuits_[id].blocked = false;
  for (JobId id : blocked) {
    if (state_.job(id).phase != Phase::kEnded) pursue(id);
  }
}

CommandKind Dispatch::confirm(JobId id, std::uint32_t number) {
  Pursuit& pursuit = pursuits_[id];
  if (number != pursuit.number || !awaits_outcome(pursuit.standing)) return CommandKind::kNone;
  switch (pursuit.standing) {
    case Standing::kStarting:
      pursuit.standing = Standing::kRunning;
      return CommandKind::kStart;
    case Standing::kResizing:
      pursuit.standing = Standing::kRunning;
      settle_change(pursuit, true);
      retry_blocked();
      return CommandKind::kResize;
    case Standing::kStopping:
      return CommandKind::kStop;
    default:
      return CommandKind::kNone;
  }
}

CommandKind Dispatch::refuse(JobId id, std::uint32_t number) {
  Pursuit& pursuit = pursuits_[id];
  if (number != pursuit.number || !awaits_outcome(pursuit.standing)) return CommandKind::kNone;
  if (pursuit.standing == Standing::kStarting) return CommandKind::kStart;
  pursuit.refused = true;
  return pursuit.standing == Standing::kStopping ? CommandKind::kStop : CommandKind::kResize;
}

void Dispatch::release(JobId id) {
  Pursuit& pursuit = pursuits_[id];
  set_used(pursuit, {});
  pursuit.used.clear();
  pursuit.change.reset();
  pursuit.standing = Standing::kIdle;
  retry_blocked();
}

bool Dispatch::is_pending(const Due& due) const {
  const Pursuit& pursuit = pursuits_[due.job];
  return pursuit.number == due.number && awaits_outcome(pursuit.standing);
}

Seconds Dispatch::next_due() {
  while (!due_.empty() && !is_pending(due_.front())) due_.pop_front();
  return due_.empty() ? kNever : due_.front().at;
}

void Dispatch::resend_due() {
  while (next_due() <= state_.now) {
    const Due due = due_.front();
    due_.pop_front();
    Pursuit& pursuit = pursuits_[due.job];
    if (pursuit.refused) {
      // The run went on as it was, and the wish may have changed meanwhile.
      settle_change(pursuit, false);
      pursuit.standing = Standing::kRunning;
      pursue(due.job);
      continue;
    }
    due_.push_back({state_.now + timeout_, due.job, due.number});
    executor_.execute(command_of(due.job, pending_kind(pursuit)));
  }
}

CommandKind Dispatch::pending_kind(const Pursuit& pursuit) {
  return pursuit.standing == Standing::kStarting   ? CommandKind::kStart
         : pursuit.standing == Standing::kResizing ? CommandKind::kResize
                                                   : CommandKind::kStop;
}

void Dispatch::resend_pending() {
  for (JobId id = 0; id < pursuits_.size(); ++id) {
    const Pursuit& pursuit = pursuits_[id];
    if (!awaits_outcome(pursuit.standing) || pursuit.refused) continue;
    executor_.execute(command_of(id, pending_kind(pursuit)));
  }
}

}  // namespace weft
