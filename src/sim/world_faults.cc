// What dies when a node or a device goes out of service, and what it loses.
#include <algorithm>

#include "sim/world.h"

namespace weft {

bool World::fail(NodeId node, DeviceId device, Seconds now) {
  const Node& of = cluster_.nodes[node];
  const bool whole = device == kNoDevice;
  std::uint16_t& outages = whole ? nodes_out_[node] : devices_out_[device];
  if (++outages > 1) return false;
  const DeviceId first = whole ? of.first_device : device;
  std::vector<JobId> hit;
  for (DeviceId d = first; d < first + (whole ? of.devices : 1); ++d) {
    if (owner_[d] != kNoJob) hit.push_back(owner_[d]);
    if (const auto users = shared_.find(d); users != shared_.end()) {
      hit.insert(hit.end(), users->second.begin(), users->second.end());
    }
  }
  std::sort(hit.begin(), hit.end());
  hit.erase(std::unique(hit.begin(), hit.end()), hit.end());
  for (JobId id : hit) crash(id, node, now);
  return true;
}

void World::restore(NodeId node, DeviceId device) {
  if (device == kNoDevice) {
    --nodes_out_[node];
  } else if (const auto outages = devices_out_.find(device); --outages->second == 0) {
    devices_out_.erase(outages);
  }
}

void World::crash(JobId id, NodeId where, Seconds now) {
  TrueJob& job = jobs_[id];
  const std::unique_ptr<Run> run = leave(id, now);
  if (options_.checkpoint_interval > 0 && job.trace->submission->kind != WorkloadKind::kService) {
    job.work_done = run->saved_work;
    records_[id].lost_work_s += std::max(0.0, now - run->saved_at);
  }
  ++records_[id].restarts;
  Event event;
  event.at = now;
  event.kind = EventKind::kCrashed;
  event.job = id;
  event.epoch = job.epoch;
  event.node = where;
  event.value = job.work_done;
  event.value2 = job.work_done - run->work_before;
  listener_.tell(event);
  rerate_neighbours(id, run->held, now);
}

}  // namespace weft
