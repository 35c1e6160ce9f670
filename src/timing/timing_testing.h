// One ideal switch: an uplink and a downlink per endpoint, the latency once per message.
#pragma once

#include <memory>
#include <numeric>

#include "timing/schedule_run.h"

namespace weft {

class SwitchPaths : public Paths {
 public:
  std::uint32_t count(VertexId, VertexId) const override { return 1; }
  void path(VertexId a, VertexId b, std::uint32_t, std::vector<LinkId>& out) const override {
    out.push_back(2 * a);
    out.push_back(2 * b + 1);
  }
};

inline Topology one_switch(std::uint32_t endpoints, Seconds latency, double bytes_per_s) {
  Topology topology;
  topology.endpoints = endpoints;
  topology.message_overhead = latency;
  topology.vertices.resize(endpoints + std::size_t{1}, {VertexKind::kEndpoint, 0});
  topology.vertices.back() = {VertexKind::kSwitch, 1};
  for (VertexId e = 0; e < endpoints; ++e) {
    topology.links.push_back({e, endpoints, bytes_per_s, 0, 0});
    topology.links.push_back({endpoints, e, bytes_per_s, 0, 0});
  }
  topology.paths = std::make_shared<SwitchPaths>();
  return topology;
}

// Rank r on endpoint r, every helper on the switch.
inline ScheduleTask task_on(const collective::Schedule& schedule, const Topology& topology,
                            double bytes) {
  ScheduleTask task{&schedule, &topology, {}, bytes, {}, false};
  task.placement.vertex.resize(static_cast<std::size_t>(schedule.endpoints()), topology.endpoints);
  std::iota(task.placement.vertex.begin(), task.placement.vertex.begin() + schedule.ranks, 0);
  return task;
}

}  // namespace weft
