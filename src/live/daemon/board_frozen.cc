// What the board knows of jobs that wait though they ran: frozen ranks, and holds.
#include <fmt/core.h>

#include "live/daemon/board.h"

namespace weft::live {

void Board::frozen_gone(JobId job, Seconds at, const std::string& why) {
  const std::lock_guard lock(mutex_);
  if (job >= views_.size() || view(job).frozen_epoch == 0) return;
  JobView& v = view(job);
  v.frozen_epoch = 0;
  v.frozen.clear();
  if (v.why.starts_with(kFrozenOn)) v.why = kPreempted;
  add_line(at, v.identity.uuid, fmt::format("{} is no longer frozen: {}", v.name, why));
}

void Board::thaw_all(NodeId node) {
  for (const auto& view : views_) {
    if (view->frozen_epoch == 0) continue;
    // What is left elsewhere has another shape now, and ends before it could go on.
    std::erase_if(view->frozen.devices,
                  [&](const DeviceShare& s) { return cluster_.node_of(s.device) == node; });
    if (view->frozen.devices.empty()) view->frozen_epoch = 0;
  }
}

void Board::hold(JobView& v, const EventRecord& record) {
  const bool runs = v.standing != JobStanding::kQueued && v.standing != JobStanding::kHeld;
  if (runs && record.event.value <= 0) return;
  if (runs) {
    held_next_[v.id] = record.why;
    v.why = fmt::format("{}: {}", kPreempted, record.why);
  } else {
    v.standing = JobStanding::kHeld;
    v.why = record.why;
  }
  add_line(record.event.at, v.identity.uuid,
           fmt::format("{} {}: {}", v.name, runs ? "is stopped and held" : "is held", record.why));
}

void Board::wait_again(JobView& v) {
  v.standing = JobStanding::kQueued;
  const auto held = held_next_.find(v.id);
  if (held == held_next_.end()) return;
  v.standing = JobStanding::kHeld;
  v.why = held->second;
  held_next_.erase(held);
}

bool is_evicted(const JobView& job) {
  return job.why.starts_with(kPreempted) && job.why != kPreempted;
}

}  // namespace weft::live
