// What the tests of policies share: a tiny state, and jobs in it.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "policy/state.h"

namespace weft {

inline Cluster small_cluster(const std::string& shorthand) {
  Result<Cluster> cluster = parse_cluster_shorthand(shorthand);
  CHECK(cluster.ok());
  return std::move(cluster).value();
}

// A job that asks for this configuration and nothing else.
inline JobState small_job(const Configuration& configuration, JobId id = 0) {
  auto menu = std::make_shared<Menu>();
  menu->configurations.push_back(configuration);
  auto submission = std::make_shared<Submission>();
  submission->menu = std::move(menu);
  submission->name = "job" + std::to_string(id);
  JobState job;
  job.id = id;
  job.spec = std::move(submission);
  return job;
}

// Devices of an allocation, for comparison.
inline std::vector<DeviceId> devices_of(const Allocation& allocation) {
  std::vector<DeviceId> devices;
  for (const DeviceShare& share : allocation.devices) devices.push_back(share.device);
  return devices;
}

// Somebody else holds these devices wholly.
inline void occupy(State& state, const std::vector<DeviceId>& devices, JobId by = 1000) {
  Allocation allocation;
  for (DeviceId device : devices) allocation.devices.push_back({device});
  state.ledger.take(by, allocation);
}

}  // namespace weft
