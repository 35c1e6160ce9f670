#include "policy/draft.h"

#include "base/check.h"

namespace weft {

void Draft::start(JobId id, Allocation allocation) {
  JobState& job = state_->jobs[id];
  CHECK(job.phase == Phase::kWaiting && !allocation.empty());
  state_->ledger.take(id, allocation);
  job.held = std::move(allocation);
  job.phase = Phase::kPlaced;
  --state_->waiting;
  ++state_->placed;
  touched_.push_back(id);
}

Allocation Draft::stop(JobId id) {
  JobState& job = state_->jobs[id];
  CHECK(job.phase == Phase::kPlaced);
  state_->ledger.give(id, job.held);
  Allocation held = std::move(job.held);
  job.held.clear();
  job.phase = Phase::kWaiting;
  ++state_->waiting;
  --state_->placed;
  touched_.push_back(id);
  return held;
}

void Draft::move(JobId id, Allocation allocation) {
  JobState& job = state_->jobs[id];
  CHECK(job.phase == Phase::kPlaced && !allocation.empty());
  state_->ledger.give(id, job.held);
  state_->ledger.take(id, allocation);
  job.held = std::move(allocation);
  touched_.push_back(id);
}

void Draft::reject(JobId id, std::string why) {
  CHECK(state_->jobs[id].phase == Phase::kWaiting);
  rejected_.emplace_back(id, std::move(why));
}

void Draft::clear() {
  touched_.clear();
  rejected_.clear();
  reasons_.clear();
  wake_at_ = kNever;
}

SetAside::SetAside(Draft& draft, const std::vector<NodeId>& nodes) : ledger_(draft.state_->ledger) {
  for (NodeId node : nodes) {
    if (!ledger_.available(node)) continue;
    ledger_.set_available(node, false);
    nodes_.push_back(node);
  }
}

SetAside::~SetAside() {
  for (NodeId node : nodes_) ledger_.set_available(node, true);
}

}  // namespace weft
