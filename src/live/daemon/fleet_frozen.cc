// Ranks that are held while their job waits: when they have to go although nobody starts it.
#include <algorithm>

#include "live/daemon/fleet.h"

namespace weft::live {

void Fleet::look_at_frozen() {
  if (runs_->frozen().all().empty()) return;
  std::vector<std::pair<std::string, const char*>> over;
  const Seconds now = brain_->now();
  const std::vector<Closure> closures = board_->closures();
  for (const auto& [uuid, run] : runs_->frozen().all()) {
    if (run.state != FrozenRun::State::kHeld) continue;
    const auto job = board_->at(run.job);
    if (!job || has_ended(job->standing)) {
      over.emplace_back(uuid, "the job has ended");
      continue;
    }
    const bool drained =
        std::any_of(run.shape.ranks.begin(), run.shape.ranks.end(),
                    [&](const auto& entry) { return board_->node(entry.first).drained; });
    const bool closed = std::any_of(closures.begin(), closures.end(), [&](const Closure& closure) {
      return closure.from <= now && now < closure.until && run.shape.ranks.contains(closure.node) &&
             !(closure.for_tenant && closure.tenant == job->tenant);
    });
    const bool held = job->standing == JobStanding::kHeld;
    if (drained || closed || held) {
      over.emplace_back(uuid, drained  ? "its node is drained"
                              : closed ? "its node is reserved"
                                       : "the job is held");
    }
  }
  for (const auto& [uuid, why] : over) runs_->end_frozen(uuid, why);
}

void Fleet::end_frozen_on(NodeId node, const std::string& why) {
  std::vector<std::string> there;
  for (const auto& [uuid, run] : runs_->frozen().all()) {
    if (run.state != FrozenRun::State::kHeld) continue;
    if (run.shape.ranks.contains(node)) there.push_back(uuid);
  }
  for (const std::string& uuid : there) runs_->end_frozen(uuid, why);
}

void Fleet::end_frozen(const std::string& why) {
  reactor_->post([this, why] {
    for (NodeId id = 0; brain_ != nullptr && id < links_.size(); ++id) end_frozen_on(id, why);
  });
}

// How much longer a start of the job may take because frozen ranks end first.
Seconds Fleet::frozen_grace_s(const std::string& uuid) const {
  const FrozenRun* run = runs_->frozen().find(uuid);
  return run != nullptr ? run->checkpoint.grace : 0;
}

}  // namespace weft::live
