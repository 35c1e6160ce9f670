// What the board knows of frozen ranks.
#include <fmt/format.h>

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

bool is_evicted(const JobView& job) {
  return job.why.starts_with(kPreempted) && job.why != kPreempted;
}

}  // namespace weft::live
