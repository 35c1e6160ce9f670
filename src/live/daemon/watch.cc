#include "live/daemon/watch.h"

#include <fmt/core.h>

#include <algorithm>
#include <csignal>
#include <nlohmann/json.hpp>

#include "live/daemon/replicas.h"
#include "live/job/job_json.h"
#include "live/job/job_text.h"

namespace weft::live {
namespace {

constexpr std::size_t kPacesKept = 64;
constexpr std::size_t kPacesNeeded = 3;  // before anything is called hung
constexpr Seconds kStacksTake = 2;       // between the stacks and the end

Seconds median_of(const std::deque<Seconds>& values) {
  std::vector<Seconds> sorted(values.begin(), values.end());
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  return *middle;
}

}  // namespace

Watch::Run& Watch::run_of(const JobView& job) {
  Run& run = runs_[job.id];
  if (run.epoch == job.epoch) return run;
  run = {};
  run.epoch = job.epoch;
  if (auto spec = spec_from_json(nlohmann::json::parse(job.identity.spec, nullptr, false));
      spec.ok()) {
    run.spec = std::move(*spec);
  }
  return run;
}

void Watch::progress(const JobView& job, double step) {
  Run& run = run_of(job);
  const Seconds now = links_.now();
  if (run.step_at > 0 && step <= run.step) return;
  if (run.step_at > 0 && !run.hung) {
    run.paces.push_back((now - run.step_at) / (step - run.step));
    if (run.paces.size() > kPacesKept) run.paces.pop_front();
  }
  run.step = step;
  run.step_at = now;
  if (run.hung && run.restart_at == kNever) {
    run.hung = false;
    board_.remark(job.id, now, "");
  }
}

void Watch::usage(const JobView& job, NodeId node, Seconds idle_s) {
  Run& run = run_of(job);
  run.idle[node] = idle_s;
  Seconds least = idle_s;
  for (const auto& [other, idle] : run.idle) least = std::min(least, idle);
  board_.idle(job.id, job.epoch, least);
}

void Watch::look_for_hang(const JobView& job, Run& run) {
  const HangRule& rule = run.spec.hang;
  const Seconds now = links_.now();
  if (run.hung) {
    if (now < run.restart_at) return;
    run.restart_at = kNever;
    return links_.hung(job.identity.uuid, run.epoch, job.remark);
  }
  if (rule.factor <= 0 || run.paces.size() < kPacesNeeded) return;
  const Seconds median = median_of(run.paces);
  const Seconds still = now - run.step_at;
  if (still < std::max(rule.factor * median, rule.at_least)) return;
  run.hung = true;
  const std::string why =
      fmt::format("hung: no step for {:.0f} s at step {:.0f}, where one takes {:.3g} s", still,
                  run.step, median);
  board_.remark(job.id, now, why + "; stacks of its ranks are beside its output");
  links_.stacks(job.identity.uuid, run.epoch, why);
  if (rule.action == HangAction::kRestart) run.restart_at = now + kStacksTake;
}

bool Watch::others_wait() const {
  return board_.any([](const JobView& job) { return job.standing == JobStanding::kQueued; });
}

void Watch::look_for_idle(const JobView& job, Run& run) {
  if (job.idle_s < reclaim_idle_s_ || run.evicted || !run.spec.preemptible || !others_wait())
    return;
  // Those who wait come first, also where the order is that of arrival.
  evict(job, run, reclaim_idle_s_, fmt::format("it has used nothing for {:.0f} s", job.idle_s));
}

void Watch::evict(const JobView& job, Run& run, Seconds hold_s, const std::string& why) {
  run.evicted = true;
  EventRecord record;
  record.event.job = job.id;
  record.event.epoch = run.epoch;
  if (hold_s > 0) {
    record.event.kind = EventKind::kHoldBack;
    record.event.value = links_.now() + hold_s;
    links_.post(record);
  }
  record.event.kind = EventKind::kEvict;
  record.event.value = 0;
  record.why = why;
  links_.post(std::move(record));
}

void Watch::leave(NodeId node, Seconds at) {
  for (const JobView& job : board_.jobs_on(node)) {
    // A service loses those replicas alone, and only when the node goes.
    if (job.standing != JobStanding::kRunning || is_service(job.identity)) continue;
    Run& run = run_of(job);
    const JobResources& resources = run.spec.resources;
    // In time for a checkpoint of its usual grace.
    run.leave_at = at - run.spec.checkpoint.grace;
    if (resources.notice_signal.empty()) {
      run.leave_at = 0;
    } else {
      links_.signal(job.identity.uuid, signal_number(resources.notice_signal));
    }
  }
  tick();
}

// Jobs that may not be on a node that is closed to them.
void Watch::clear_nodes() {
  const Seconds now = links_.now();
  for (const Closure& closure : board_.closures()) {
    if (now < closure.from || now >= closure.until) continue;
    for (const JobView& job : board_.jobs_on(closure.node)) {
      if (job.standing != JobStanding::kRunning) continue;
      if (closure.for_tenant && closure.tenant == job.tenant) continue;
      Run& run = run_of(job);
      if (!run.evicted) evict(job, run, 0, "its node is reserved from now on");
    }
  }
}

void Watch::tick() {
  clear_nodes();
  for (auto at = runs_.begin(); at != runs_.end();) {
    Run& run = at->second;
    const auto job = board_.at(at->first);
    if (!job || job->epoch != run.epoch || job->held.empty()) {
      at = runs_.erase(at);
      continue;
    }
    ++at;
    if (job->standing != JobStanding::kRunning) continue;
    look_for_hang(*job, run);
    look_for_idle(*job, run);
    if (run.leave_at <= links_.now() && !run.evicted) {
      evict(*job, run, 0, "its node will be taken away");
    }
  }
}

}  // namespace weft::live
