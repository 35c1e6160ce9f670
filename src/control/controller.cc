#include "control/controller.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace weft {

Controller::Controller(const Cluster& cluster, const Policy& policy, Executor& executor,
                       ControllerOptions options, Journal* journal)
    : policy_(&policy),
      options_(options),
      journal_(journal),
      state_(cluster),
      dispatch_(cluster, state_, executor, options.command_timeout, journal),
      draft_(state_),
      memory_(policy.new_memory()) {}

void Controller::reserve(size_t jobs) {
  state_.jobs.reserve(jobs);
  state_.ended_service_s.reserve(jobs);
  dispatch_.reserve(jobs);
}

JobId Controller::handle(const Event& event) {
  CHECK_MSG(event.at >= state_.now, "time runs backwards");
  if (!state_.closures.empty() && next_closing() <= event.at) change_.nodes = true;
  state_.now = event.at;
  if (journal_ != nullptr) journal_->event(event);
  switch (event.kind) {
    case EventKind::kSubmit:
      return submit(event);
    case EventKind::kOutcome:
      outcome(event);
      break;
    case EventKind::kFinished:
      finished(event);
      break;
    case EventKind::kCrashed:
      crashed(event);
      break;
    case EventKind::kProgress:
      progress(event);
      break;
    case EventKind::kWithdraw:
      withdraw(state_.jobs[event.job]);
      break;
    case EventKind::kLoad:
      load(event);
      break;
    case EventKind::kNodeDown:
      node_down(event);
      break;
    case EventKind::kNodeUp:
    case EventKind::kNodeNotice:  // takes no new work; what runs there may finish in time
      set_available(event, event.kind == EventKind::kNodeUp);
      break;
    case EventKind::kTick:
      dispatch_.resend_due();
      break;
    case EventKind::kRelease:
      if (JobState& job = state_.jobs[event.job]; job.phase == Phase::kHeld) admit(job);
      break;
    case EventKind::kEvict:
      if (JobState& job = state_.jobs[event.job]; job.phase == Phase::kPlaced) {
        send_back(job);
        dispatch_.pursue(event.job);
      }
      break;
    case EventKind::kLost:
      lost(event);
      break;
    case EventKind::kClose:
      close_node(event);
      break;
    case EventKind::kHoldBack:
      hold_back(event);
      break;
    case EventKind::kHold:
      hold(event);
      break;
  }
  return event.job;
}

void Controller::withdraw(JobState& job) {
  if (job.phase == Phase::kEnded) return;
  if (job.phase == Phase::kPlaced) {
    state_.ledger.give(job.id, job.held);
    job.held.clear();
    --state_.placed;
    job.phase = Phase::kWaiting;
    ++state_.waiting;
  }
  close_interval(job);
  end(job);
  dispatch_.pursue(job.id);
}

JobId Controller::submit(const Event& event) {
  const JobId id = static_cast<JobId>(state_.jobs.size());
  JobState& job = state_.jobs.emplace_back();
  job.spec = event.submission;
  job.id = id;
  job.submit = event.at;
  job.load = event.value;
  job.estimate = options_.estimates_from_history ? history_.estimate(*job.spec)
                 : event.estimate.known()        ? event.estimate
                                                 : job.spec->estimate;
  dispatch_.add_job();
  job.phase = Phase::kHeld;
  if (event.value2 <= 0) admit(job);
  return id;
}

bool Controller::stale(const Event& event) const {
  return event.epoch != dispatch_.pursuit(event.job).epoch;
}

void Controller::open_interval(JobState& job) {
  job.running = true;
  job.running_since = job.reported_at = state_.now;
  job.devices_running = dispatch_.pursuit(job.id).used.device_count();
  const Configuration& c =
      job.spec->menu->configurations[dispatch_.pursuit(job.id).used.configuration];
  job.observed_rate = c.rate;
}

void Controller::close_interval(JobState& job) {
  if (!job.running) return;
  job.closed_device_s = job.attained_device_s(state_.now);
  job.closed_run_s = job.attained_run_s(state_.now);
  job.reported_work = job.believed_work(state_.now);
  job.running = false;
}

void Controller::outcome(const Event& event) {
  if (stale(event)) return;
  JobState& job = state_.jobs[event.job];
  if (event.outcome == Outcome::kDone) {
    switch (dispatch_.confirm(event.job, event.number)) {
      case CommandKind::kStart:
        if (job.phase != Phase::kEnded) open_interval(job);
        break;
      case CommandKind::kResize:
        close_interval(job);
        open_interval(job);
        break;
      case CommandKind::kStop:
        close_interval(job);
        job.reported_work = event.value;
        job.setbacks = 0;
        if (job.phase != Phase::kEnded) ++job.restarts;
        dispatch_.release(event.job);
        break;
      case CommandKind::kNone:
        return;
    }
  } else if (dispatch_.refuse(event.job, event.number) == CommandKind::kStart) {
    dispatch_.release(event.job);
    ++job.setbacks;
    // The same start would be refused again at once: no try is free.
    if (job.phase == Phase::kPlaced) send_back(job, job.setbacks + 1u);
  } else {
    return;  // a refused stop or resize is asked again when its deadline passes
  }
  dispatch_.pursue(event.job);
}

void Controller::send_back(JobState& job, std::uint32_t setbacks) {
  state_.ledger.give(job.id, job.held);
  job.held.clear();
  job.phase = Phase::kWaiting;
  --state_.placed;
  ++state_.waiting;
  if (setbacks > 0) job.held_back_until = state_.now + options_.back_off.pause(setbacks);
  if (const auto asked = held_back_.find(job.id); asked != held_back_.end()) {
    job.held_back_until = asked->second;
    held_back_.erase(asked);
  }
  change_.returned.push_back(job.id);
}

void Controller::end(JobState& job) {
  const Phase before = std::exchange(job.phase, Phase::kEnded);
  state_.failures.jobs.erase(job.id);
  state_.failures.shunned.erase(job.id);
  held_back_.erase(job.id);
  load_notices_.erase(job.id);
  if (before == Phase::kHeld) return;  // no policy knows of it
  --(before == Phase::kWaiting ? state_.waiting : state_.placed);
  change_.ended.push_back(job.id);
  if (++ended_in_active_ * 2 > state_.active.size()) {
    std::erase_if(state_.active, [&](JobId id) { return state_.jobs[id].phase == Phase::kEnded; });
    ended_in_active_ = 0;
  }
}

void Controller::finished(const Event& event) {
  JobState& job = state_.jobs[event.job];
  if (stale(event) || job.phase == Phase::kEnded) return;
  close_interval(job);
  if (job.phase == Phase::kPlaced) {
    state_.ledger.give(job.id, job.held);
    job.held.clear();
  }
  state_.ended_service_s.push_back(job.closed_device_s);
  if (options_.estimates_from_history) history_.ended(*job.spec, job.closed_run_s);
  end(job);
  dispatch_.release(event.job);
}

void Controller::crashed(const Event& event) {
  JobState& job = state_.jobs[event.job];
  if (stale(event) || dispatch_.pursuit(event.job).standing == Standing::kIdle) return;
  const Seconds ran = job.running ? state_.now - job.running_since : 0;
  close_interval(job);
  job.reported_work = event.value;
  if (job.phase != Phase::kEnded) {
    ++job.restarts;
    const std::uint32_t before = event.value2 > 0 ? 0 : job.setbacks;
    job.setbacks = static_cast<std::uint16_t>(options_.back_off.next_in_row(before, ran));
    // A node that was announced to go has not failed.
    const bool failed = event.node != kNoNode && (state_.ledger.available(event.node) ||
                                                  state_.failures.nodes.contains(event.node));
    if (failed) state_.failures.jobs[event.job].push_back(event.node);
  }
  dispatch_.release(event.job);
  if (job.phase == Phase::kPlaced) send_back(job);
}

void Controller::load(const Event& event) {
  JobState& job = state_.jobs[event.job];
  if (job.phase == Phase::kEnded) return;
  std::uint32_t& newest = load_notices_[event.job];
  if (event.number < newest) return;  // overtaken on its way
  newest = event.number;
  job.load = event.value;
  if (job.phase != Phase::kHeld) change_.loads.push_back(event.job);
}

void Controller::progress(const Event& event) {
  JobState& job = state_.jobs[event.job];
  if (event.report != nullptr && job.phase != Phase::kEnded &&
      (job.report == nullptr || job.report->serial < event.report->serial)) {
    job.report = event.report;  // what a job knows about itself outlives its runs
  }
  if (stale(event) || !job.running) return;
  job.reported_work = event.value;
  job.reported_at = state_.now;
  job.observed_rate = event.value2;
}

void Controller::set_available(const Event& event, bool available) {
  if (event.device == kNoDevice) {
    state_.ledger.set_available(event.node, available);
  } else {
    state_.ledger.set_device_available(event.device, available);
  }
  change_.nodes = true;
}

void Controller::node_down(const Event& event) {
  const Node& node = state_.cluster().nodes[event.node];
  const bool whole = event.device == kNoDevice;
  const DeviceId first = whole ? node.first_device : event.device;
  const DeviceId end = first + (whole ? node.devices : 1);
  std::vector<JobId> hit;
  for (DeviceId d = first; d < end; ++d) {
    for (JobId job : state_.ledger.users(d)) hit.push_back(job);
  }
  std::sort(hit.begin(), hit.end());
  hit.erase(std::unique(hit.begin(), hit.end()), hit.end());
  const bool served =
      whole ? state_.ledger.available(event.node) : state_.ledger.device_in_service(first);
  if (served) state_.failures.nodes[event.node] = state_.now;
  set_available(event, false);
  for (JobId job : hit) {
    send_back(state_.jobs[job]);
    dispatch_.pursue(job);
  }
}

void Controller::decide(Seconds now) {
  CHECK(now >= state_.now);
  state_.now = now;
  if (policy_wake_ <= now) change_.woke = true;
  if (change_.empty()) return;
  if (journal_ != nullptr) journal_->decision(now);
  const std::int64_t before = options_.clock_ns != nullptr ? options_.clock_ns() : 0;
  draft_.clear();
  policy_->decide(draft_, change_, *memory_);
  if (options_.clock_ns != nullptr) latency_.add_ns(options_.clock_ns() - before);
  ++decisions_;
  change_.clear();
  policy_wake_ = draft_.wake();
  if (journal_ != nullptr) journal_->decided(draft_);
  pursue(draft_.touched());
  for (const auto& [id, why] : draft_.rejected()) {
    if (journal_ != nullptr) journal_->rejected(now, id, why);
    end(state_.jobs[id]);
  }
  if (journal_ != nullptr) {
    for (const Reason& reason : draft_.reasons()) journal_->reason(reason);
  }
}

// Stops go before starts, so that a device freed and given in one decision is asked back first.
void Controller::pursue(const std::vector<JobId>& touched) {
  for (JobId id : touched) {
    if (state_.jobs[id].phase == Phase::kWaiting) dispatch_.pursue(id);
  }
  for (JobId id : touched) {
    if (state_.jobs[id].phase == Phase::kPlaced) dispatch_.pursue(id);
  }
}

Status Controller::fold(Seconds now, const Decision& decision) {
  CHECK(now >= state_.now);
  state_.now = now;
  draft_.clear();
  const Status applied = apply(decision, draft_);
  if (!applied.ok()) return applied;
  ++decisions_;
  change_.clear();
  policy_wake_ = decision.wake;
  std::vector<JobId> touched;
  for (const auto& [id, held] : decision.held) touched.push_back(id);
  pursue(touched);
  for (const auto& [id, why] : decision.rejected) {
    if (journal_ != nullptr) journal_->rejected(now, id, why);
    end(state_.jobs[id]);
  }
  return {};
}

void Controller::take_policy(const Policy& policy) {
  policy_ = &policy;
  memory_ = policy.new_memory();
  policy_wake_ = kNever;
  if (state_.jobs.empty() && decisions_ == 0) return;  // as it was made: there is nothing to tell
  change_.clear();
  for (JobId id : state_.active) {
    if (state_.jobs[id].phase != Phase::kEnded) change_.arrived.push_back(id);
  }
  change_.nodes = true;
}

Seconds Controller::next_wake() {
  return std::min({policy_wake_, dispatch_.next_due(), next_closing()});
}

}  // namespace weft
