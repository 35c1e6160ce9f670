// What becomes of runs that fail or hang.
#include <fmt/core.h>

#include "live/daemon/runs.h"

namespace weft::live {

std::string again_after(Seconds pause) {
  return pause > 0 ? fmt::format("; again after {:g} s", pause) : "; again at once";
}

void Runs::tell_crash(const Key& key, Run& run) {
  Event event;
  if (!run.started) {
    // A rank failed before all had begun: a failure of the job, not of what starts it.
    event.kind = EventKind::kOutcome;
    tell(key, run, event, "", false);
    run.started = true;
  }
  std::string why = run.why;
  const std::uint32_t in_row =
      run.spec.retries.back_off().next_in_row(run.failed_in_row, links_.now() - run.since);
  if (run.own_failure && run.failures < run.spec.retries.max) {
    const Seconds pause = run.spec.retries.back_off().pause(in_row);
    event = {};
    event.kind = EventKind::kHoldBack;
    event.value = links_.now() + pause;
    tell(key, run, event, "", false);
    why += again_after(pause);
  }
  event = {};
  event.kind = EventKind::kCrashed;
  event.node = run.failed_on;
  event.number = run.own_failure ? in_row : 0;
  tell(key, run, event, why, true);
}

void Runs::give_up(const std::string& uuid, std::uint32_t epoch, const std::string& why) {
  const Key key{uuid, epoch};
  const auto found = runs_.find(key);
  if (found == runs_.end() || found->second.started || found->second.aim != Run::Aim::kRun) return;
  abandon(key, found->second, kNoNode, why);
}

void Runs::hung(const std::string& uuid, std::uint32_t epoch, const std::string& why) {
  const Key key{uuid, epoch};
  const auto found = runs_.find(key);
  if (found == runs_.end() || found->second.aim != Run::Aim::kRun || found->second.told) return;
  Run& run = found->second;
  for (const auto& [node, part] : run.parts) {
    Event event;
    event.kind = EventKind::kHoldBack;
    event.value = links_.now();
    event.node = node;
    tell(key, run, event, "", false);
  }
  abandon(key, run, kNoNode, why, true);
}

void Runs::stacks(const std::string& uuid, std::uint32_t epoch, const std::string& why) {
  const auto found = runs_.find({uuid, epoch});
  if (found == runs_.end()) return;
  for (const auto& [node, part] : found->second.parts) {
    links_.send(
        node, {{"op", "stacks"}, {"term", term_}, {"uuid", uuid}, {"epoch", epoch}, {"why", why}});
  }
}

}  // namespace weft::live
