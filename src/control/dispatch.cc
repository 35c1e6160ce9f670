#include "control/dispatch.h"

#include <algorithm>

#include "base/check.h"

namespace weft {
namespace {

bool awaits_outcome(Standing standing) {
  return standing == Standing::kStarting || standing == Standing::kResizing ||
         standing == Standing::kStopping;
}

// A change that keeps ranks alive: another share of the same devices, or a service that scales.
bool can_resize(const JobState& job, const Allocation& used) {
  if (job.spec->kind == WorkloadKind::kService) {
    return job.held.configuration == used.configuration;
  }
  return job.held.configuration == used.configuration &&
         std::equal(job.held.devices.begin(), job.held.devices.end(), used.devices.begin(),
                    used.devices.end(), [](const DeviceShare& a, const DeviceShare& b) {
                      return a.device == b.device;
                    });
}

}  // namespace

Dispatch::Dispatch(const Cluster& cluster, State& state, Executor& executor, Seconds timeout,
                   Journal* journal)
    : state_(state),
      executor_(executor),
      timeout_(timeout),
      journal_(journal),
      used_milli_(cluster.device_count()) {}

void Dispatch::use(const Allocation& allocation, int sign) {
  for (const DeviceShare& share : allocation.devices) {
    used_milli_[share.device] = static_cast<std::int16_t>(used_milli_[share.device] +
                                                          sign * static_cast<int>(share.milli));
  }
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
  return true;
}

void Dispatch::send(JobId job, CommandKind kind, Standing standing) {
  Pursuit& pursuit = pursuits_[job];
  pursuit.standing = standing;
  ++pursuit.number;
  const Command command{kind,
                        job,
                        pursuit.epoch,
                        pursuit.number,
                        state_.now + timeout_,
                        kind == CommandKind::kStop ? nullptr : &pursuit.used};
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
    if (!wanted || !can_resize(job, pursuit.used)) {
      return send(id, CommandKind::kStop, Standing::kStopping);
    }
  }
  if (!unused(id, job.held)) {
    if (!pursuit.blocked) blocked_.push_back(id);
    pursuit.blocked = true;
    return;
  }
  const bool start = pursuit.standing == Standing::kIdle;
  use(pursuit.used, -1);
  pursuit.used = job.held;
  use(pursuit.used, +1);
  if (start) ++pursuit.epoch;
  send(id, start ? CommandKind::kStart : CommandKind::kResize,
       start ? Standing::kStarting : Standing::kResizing);
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
  // The run goes on as it was; the wish stands, so ask again when the timeout has passed.
  return pursuit.standing == Standing::kStopping ? CommandKind::kStop : CommandKind::kResize;
}

void Dispatch::release(JobId id) {
  Pursuit& pursuit = pursuits_[id];
  use(pursuit.used, -1);
  pursuit.used.clear();
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
    const CommandKind kind = pursuit.standing == Standing::kStarting   ? CommandKind::kStart
                             : pursuit.standing == Standing::kResizing ? CommandKind::kResize
                                                                       : CommandKind::kStop;
    due_.push_back({state_.now + timeout_, due.job, due.number});
    executor_.execute({kind, due.job, pursuit.epoch, pursuit.number, state_.now + timeout_,
                       kind == CommandKind::kStop ? nullptr : &pursuit.used});
  }
}

}  // namespace weft
