// Preemption by freezing: the ranks of a run stay where they are and go on later, as the next epoch
// of their job if that has the same shape; else they end before it begins.
#include <fmt/core.h>

#include <algorithm>

#include "live/daemon/run_numbers.h"
#include "live/daemon/runs.h"

namespace weft::live {
namespace {

constexpr Seconds kFreezePatience = 5;  // for nodes that do not answer

}  // namespace

RunShape Runs::shape_of(const Run& run) {
  RunShape shape;
  for (const auto& [node, part] : run.parts) shape.ranks[node] = part.ranks;
  shape.codec = run.codec;
  shape.sync = run.sync;
  return shape;
}

FrozenRun Runs::frozen_form(const Run& run, std::uint32_t epoch) {
  FrozenRun frozen;
  frozen.epoch = epoch;
  frozen.job = run.job;
  frozen.checkpoint = run.spec.checkpoint;
  frozen.on_controller_loss = run.spec.on_controller_loss;
  frozen.shape = shape_of(run);
  return frozen;
}

std::string Runs::frozen_where(const RunShape& shape) const {
  std::string names;
  for (const auto& [node, ranks] : shape.ranks) {
    names += (names.empty() ? "" : ", ") + cluster_.nodes[node].name;
  }
  return kFrozenOn + names;
}

// The journal says where its ranks were frozen; agents will say whether they still are.
void Runs::adopt_frozen(const JobView& job) {
  JobView then = job;
  then.epoch = job.frozen_epoch;
  frozen_.keep(job.identity.uuid, frozen_form(make(then, job.frozen, 0), job.frozen_epoch));
  if (job.standing == JobStanding::kStopping) {
    frozen_.end(job.identity.uuid, "its next start was stopped");
  }
}

bool Runs::may_freeze(const Key& key, const Run& run, const JobView& job) const {
  if (run.spec.checkpoint.preempt != Preemption::kFreeze || has_ended(job.standing) ||
      is_evicted(job)) {
    return false;
  }
  if (run.aim == Run::Aim::kFreeze) return true;  // asked again
  const bool whole = std::all_of(run.parts.begin(), run.parts.end(), [&](const auto& entry) {
    const bool here = !links_.in_service || links_.in_service(entry.first);
    return here && !entry.second.gone && entry.second.ends.empty();
  });
  return run.aim == Run::Aim::kRun && run.started && whole && frozen_.find(key.first) == nullptr &&
         frozen_.has_room(shape_of(run));
}

void Runs::freeze(const Key& key, Run& run) {
  if (run.aim != Run::Aim::kFreeze) run.freeze_by = links_.now() + kFreezePatience;
  run.aim = Run::Aim::kFreeze;
  for (const auto& [node, part] : run.parts) {
    if (!part.frozen) send_freeze(node, key);
  }
}

void Runs::send_freeze(NodeId node, const Key& key) {
  links_.send(node, {{"op", "freeze"},
                     {"term", term_},
                     {"uuid", key.first},
                     {"epoch", key.second},
                     {"number", kFreezeNumber}});
}

void Runs::keep_frozen(const Key& key, Run& run) {
  frozen_.keep(key.first, frozen_form(run, key.second));
  Event event;
  event.kind = EventKind::kOutcome;
  tell(key, run, event, frozen_where(shape_of(run)), true);
}

void Runs::stop_instead(const Key& key, Run& run) {
  run.aim = Run::Aim::kStop;
  for (const auto& [node, part] : run.parts) {
    if (!part.gone) send_stop(node, key, run);
  }
  settle(key, run);
}

void Runs::tick() {
  std::vector<Key> late;
  for (const auto& [key, run] : runs_) {
    if (run.aim == Run::Aim::kFreeze && !run.told && links_.now() >= run.freeze_by) {
      late.push_back(key);
    }
  }
  for (const Key& key : late) stop_instead(key, runs_.at(key));
}

void Runs::meet_frozen(const Key& key, Run& run) {
  const FrozenRun* held = frozen_.find(key.first);
  if (held == nullptr) return;
  if (frozen_.thaw(key.first, shape_of(run))) {
    run.thaws = held->epoch;
    return;
  }
  run.waits = true;
  frozen_.end(key.first, "it starts elsewhere");
}

void Runs::leave_frozen(const Key& key, const Run& run) {
  if (run.thaws > 0 && !run.started) frozen_.end(key.first, "the start they waited for failed");
}

void Runs::frozen_ranks_left(const std::string& uuid, const FrozenRun& frozen) {
  if (links_.frozen_gone) links_.frozen_gone(frozen.job, frozen.why);
  for (auto& [key, run] : runs_) {
    if (key.first != uuid || !run.waits) continue;
    run.waits = false;
    if (run.aim != Run::Aim::kRun || run.number == 0) continue;
    for (const auto& [node, part] : run.parts) {
      if (!part.started) send_start(node, key, run);
    }
  }
}

}  // namespace weft::live
