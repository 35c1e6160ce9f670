#include "live/daemon/holds.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "live/job/job_fields.h"
#include "live/job/job_json.h"

namespace weft::live {
namespace {

constexpr const char* kAllowed = "its budget allows it again";

enum class Fulfilment { kNotYet, kYes, kNever };

Fulfilment look(const JobView& job, DependencyCondition when) {
  if (!has_ended(job.standing)) return Fulfilment::kNotYet;
  const bool well = job.standing == JobStanding::kFinished;
  const bool fulfilled =
      when == DependencyCondition::kAny || well == (when == DependencyCondition::kOk);
  return fulfilled ? Fulfilment::kYes : Fulfilment::kNever;
}

std::string broken(const JobView& job, DependencyCondition when) {
  return fmt::format(
      "it depends on {} ({}), which {}", job.name, kConditionNames[static_cast<int>(when)],
      job.standing == JobStanding::kFinished
          ? "finished"
          : fmt::format("has {}", job.standing == JobStanding::kFailed
                                      ? "failed"
                                      : std::string("been ") +
                                            kStandingNames[static_cast<int>(job.standing)]));
}

// A cheap look, for the many jobs that neither are held nor members of an array.
bool may_be_held(bool held, const JobIdentity& job) {
  return held || job.spec.find(kArrayVariable) != std::string::npos;
}

std::string array_of(const JobView& job) {
  if (!may_be_held(false, job.identity)) return "";
  const auto spec = spec_from_json(nlohmann::json::parse(job.identity.spec, nullptr, false));
  if (!spec.ok()) return "";
  const auto found = spec->envs.find(kArrayVariable);
  return found == spec->envs.end() ? "" : found->second;
}

// The job of that name or uuid, or all members of the newest array of that name.
std::vector<JobView> named(const Board& board, const std::string& name) {
  if (const auto job = board.find(name)) return {*job};
  std::vector<JobView> members = board.jobs([&](const JobView& job) {
    return job.name.starts_with(name + ".") && job.name.find('.', name.size() + 1) == job.name.npos;
  });
  std::string newest;
  for (auto at = members.rbegin(); at != members.rend() && newest.empty(); ++at) {
    newest = array_of(*at);
  }
  std::erase_if(members, [&](const JobView& job) { return array_of(job) != newest; });
  return newest.empty() ? std::vector<JobView>{} : members;
}

}  // namespace

Result<std::vector<std::string>> resolve_holds(std::vector<JobSpec>& members, const Board& board) {
  std::vector<JobDependency> found;
  std::string waits;
  for (const JobDependency& asked : members.front().depends_on) {
    const std::vector<JobView> jobs = named(board, asked.job);
    if (jobs.empty()) {
      return Error{ErrorKind::kInvalidInput,
                   fmt::format("depends_on names '{}', and no job has that name", asked.job),
                   "submit it first, or name it by uuid"};
    }
    bool open = false;
    for (const JobView& job : jobs) {
      const Fulfilment so_far = look(job, asked.when);
      if (so_far == Fulfilment::kNever) {
        return Error{ErrorKind::kInvalidInput,
                     fmt::format("it could never start: {}", broken(job, asked.when)), ""};
      }
      open = open || so_far == Fulfilment::kNotYet;
      found.push_back({job.identity.uuid, asked.when});
    }
    if (open) {
      waits += fmt::format("{}{} ({})", waits.empty() ? "waits for " : ", ", asked.job,
                           kConditionNames[static_cast<int>(asked.when)]);
    }
  }
  if (found.size() > kMaxDependencies) {
    return Error{
        ErrorKind::kInvalidInput,
        fmt::format("depends_on names {} jobs; at most {}", found.size(), kMaxDependencies), ""};
  }
  std::vector<std::string> why;
  for (std::size_t i = 0; i < members.size(); ++i) {
    members[i].depends_on = found;
    const std::uint32_t at_once = members[i].array.at_once;
    const bool limited = at_once > 0 && members.size() > at_once;
    why.push_back(!waits.empty() ? waits
                  : limited && i >= at_once
                      ? fmt::format("waits for its turn: {} of the array at a time", at_once)
                      : "");
  }
  return why;
}

void Holds::begin() {
  const auto of_interest = [](const JobView& job) {
    return !has_ended(job.standing) &&
           may_be_held(job.standing == JobStanding::kHeld, job.identity);
  };
  for (const JobView& job : board_.jobs(of_interest)) admit(job);
  ask_gate_again();
}

void Holds::ask_gate_again() {
  if (!gate_) return;
  for (const JobId job : std::exchange(gated_, {})) release(job, kAllowed);
  const auto under_way = [](const JobView& job) {
    return !has_ended(job.standing) && job.standing != JobStanding::kHeld;
  };
  for (const JobView& job : board_.jobs(under_way)) check_gate(job);
}

void Holds::check_gate(const JobView& job) {
  const HoldVerdict verdict = gate_(job);
  const bool waits = job.standing == JobStanding::kQueued;
  if (verdict.why.empty() || (!waits && !verdict.stops)) return;
  if (job.standing == JobStanding::kHeld || has_ended(job.standing)) return;
  if (!gated_.insert(job.id).second && !waits) return;  // its stop is under way
  tell(EventKind::kHold, job.id, verdict.why, verdict.stops ? 1 : 0);
}

void Holds::stopping(JobId job) {
  const auto view = gate_ ? board_.at(job) : std::nullopt;
  if (!view || has_ended(view->standing)) return;
  const HoldVerdict verdict = gate_(*view);
  if (verdict.why.empty() || !gated_.insert(job).second) return;
  tell(EventKind::kHold, job, verdict.why, 1);  // also though it still runs
}

void Holds::release(JobId job, const std::string& why) {
  const auto view = gate_ ? board_.at(job) : std::nullopt;
  const HoldVerdict verdict = view ? gate_(*view) : HoldVerdict{};
  if (verdict.why.empty()) return tell(EventKind::kRelease, job, why);
  const bool waits = view->standing == JobStanding::kHeld || view->standing == JobStanding::kQueued;
  if (!waits && !verdict.stops) return;  // its run goes on, and is asked for when it is over
  gated_.insert(job);
  const std::string owner = verdict.why.substr(0, verdict.why.find(':'));
  const bool known = view->why.find(owner) != std::string::npos;
  if (!known) tell(EventKind::kHold, job, verdict.why, verdict.stops ? 1 : 0);
}

void Holds::take(const EventRecord& record) {
  const Event& e = record.event;
  if (e.kind == EventKind::kCrashed || e.kind == EventKind::kOutcome ||
      e.kind == EventKind::kLost) {
    const auto job = board_.at(e.job);
    const bool held = job && job->standing == JobStanding::kHeld;
    // One that an earlier controller had stopped.
    if (held && !held_.contains(e.job) && !gated_.contains(e.job)) release(e.job, kAllowed);
    if (job && gate_) check_gate(*job);
    return;
  }
  if (e.kind == EventKind::kSubmit) {
    const bool may_be = may_be_held(e.value2 > 0, *record.job);
    if (!may_be && !gate_) return;
    const auto job = board_.find(record.job->uuid);
    if (!job || has_ended(job->standing)) return;
    if (may_be) admit(*job);
    if (gate_) check_gate(*job);
    return;
  }
  if (e.kind != EventKind::kFinished && e.kind != EventKind::kWithdraw) return;
  const auto job = board_.at(e.job);
  if (job && has_ended(job->standing)) ended(*job);
}

void Holds::admit(const JobView& job) {
  const bool held = job.standing == JobStanding::kHeld;
  const std::string array = array_of(job);
  if ((!held && array.empty()) || held_.contains(job.id)) return;
  if (const auto at = arrays_.find(array);
      at != arrays_.end() && at->second.under_way.contains(job.id)) {
    return;
  }
  const auto spec = spec_from_json(nlohmann::json::parse(job.identity.spec, nullptr, false));
  if (!spec.ok()) return;
  Held mine;
  if (spec->array.at_once > 0 && !array.empty()) {
    mine.array = array;
    member_of_[job.id] = array;
    arrays_[array].at_once = spec->array.at_once;
    if (!held) arrays_[array].under_way.insert(job.id);
  }
  if (!held) return;
  for (const JobDependency& dependency : spec->depends_on) {
    const auto other = board_.find(dependency.job);
    if (!other) continue;
    mine.needs.emplace_back(other->id, dependency.when);
    waiting_for_[other->id].push_back(job.id);
  }
  Held& kept = held_[job.id] = std::move(mine);
  if (check(job.id, kept)) let_go(job.id, kept);
}

bool Holds::check(JobId job, Held& held) {
  std::string why;
  std::erase_if(held.needs, [&](const auto& need) {
    const auto other = board_.at(need.first);
    const Fulfilment so_far = other ? look(*other, need.second) : Fulfilment::kYes;
    if (so_far == Fulfilment::kNever && why.empty()) why = broken(*other, need.second);
    return so_far == Fulfilment::kYes;
  });
  if (!why.empty()) {
    held_.erase(job);
    tell(EventKind::kWithdraw, job, why);
    return false;
  }
  return held.needs.empty();
}

// Nothing is missing but perhaps its turn.
void Holds::let_go(JobId job, Held& held) {
  if (held.array.empty()) {
    held_.erase(job);
    return release(job, "all that it waited for has ended");
  }
  Array& array = arrays_[held.array];
  array.ready.insert(job);
  give_turns(array);
}

void Holds::give_turns(Array& array) {
  while (!array.ready.empty() && array.under_way.size() < array.at_once) {
    const JobId next = *array.ready.begin();
    array.ready.erase(array.ready.begin());
    array.under_way.insert(next);
    held_.erase(next);
    release(next, "it is its turn");
  }
}

void Holds::ended(const JobView& job) {
  held_.erase(job.id);
  gated_.erase(job.id);
  if (const auto member = member_of_.find(job.id); member != member_of_.end()) {
    Array& array = arrays_[member->second];
    array.under_way.erase(job.id);
    array.ready.erase(job.id);
    give_turns(array);
    if (array.under_way.empty() && array.ready.empty()) arrays_.erase(member->second);
    member_of_.erase(member);
  }
  const auto waiting = waiting_for_.find(job.id);
  if (waiting == waiting_for_.end()) return;
  const std::vector<JobId> theirs = std::move(waiting->second);
  waiting_for_.erase(waiting);
  for (const JobId other : theirs) {
    const auto held = held_.find(other);
    if (held != held_.end() && check(other, held->second)) let_go(other, held->second);
  }
}

void Holds::tell(EventKind kind, JobId job, const std::string& why, double value) {
  EventRecord record;
  record.event.kind = kind;
  record.event.value = value;
  record.event.job = job;
  record.why = why;
  post_(std::move(record));
}

}  // namespace weft::live
