// Schedules and topologies by name, for tests.
#pragma once

#include <gtest/gtest.h>

#include <numeric>
#include <string>

#include "collective/algorithms.h"
#include "timing/schedule_run.h"

namespace weft {

inline Topology topology_of(const std::string& spec, int hosts = 64) {
  auto topology = read_topology(spec, static_cast<std::uint32_t>(hosts));
  EXPECT_TRUE(topology.ok()) << (topology.ok() ? "" : topology.error().text());
  return std::move(topology).value();
}

inline collective::Schedule made(const char* algorithm, const collective::Request& request) {
  auto schedule = collective::generate(algorithm, request);
  EXPECT_TRUE(schedule.ok()) << (schedule.ok() ? "" : schedule.error().text());
  return std::move(schedule).value();
}

// Rank r on endpoint r, every helper on the first switch.
inline ScheduleTask task_on(const collective::Schedule& schedule, const Topology& topology,
                            double bytes) {
  ScheduleTask task{&schedule, &topology, {}, bytes, {}, false, 0};
  task.placement.vertex.resize(static_cast<std::size_t>(schedule.endpoints()), topology.endpoints);
  std::iota(task.placement.vertex.begin(), task.placement.vertex.begin() + schedule.ranks, 0);
  return task;
}

}  // namespace weft
