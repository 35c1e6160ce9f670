// What a running workload holds.
#pragma once

#include <vector>

#include "base/units.h"

namespace weft {

// A part of one device. `partition` names a hardware slice (1-based; 0: none).
struct DeviceShare {
  DeviceId device = 0;
  std::uint16_t milli = kWhole;
  std::uint16_t partition = 0;
  Bytes memory = 0;
  bool operator==(const DeviceShare&) const = default;
};

// What the workers of one node hold beside their devices.
struct HostShare {
  NodeId node = 0;
  std::uint32_t cpu_milli = 0;
  Bytes memory = 0;
  double storage_bytes_per_s = 0;
  double network_guarantee = 0;
  double network_limit = 0;
  bool operator==(const HostShare&) const = default;
};

// Empty: nothing is held. `devices` is ascending by device; `hosts` is empty when the
// configuration asks for nothing beside devices.
struct Allocation {
  std::uint16_t configuration = 0;  // index into the menu
  std::uint16_t watts_cap = 0;      // of each device; 0: none but the configuration's
  std::uint32_t replicas = 1;
  std::vector<DeviceShare> devices;
  std::vector<HostShare> hosts;

  bool empty() const { return devices.empty(); }
  // Devices held, a shared one counted by its share.
  double device_count() const {
    double milli = 0;
    for (const DeviceShare& share : devices) milli += share.milli;
    return milli / kWhole;
  }
  // Gives its memory back too: most jobs of a long trace have ended.
  void clear() { *this = Allocation{}; }
  bool operator==(const Allocation&) const = default;
};

}  // namespace weft
