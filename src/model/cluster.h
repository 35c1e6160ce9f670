// The machine park as plain values: device types, nodes, the tree of domains, prices.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace weft {

// A point at which a device may be run: its draw under load and its speed relative to the
// uncapped device.
struct PowerPoint {
  double watts = 0;
  double speed = 1;
};

struct DeviceType {
  std::string name;
  Bytes memory = 0;  // 0: not stated, never a limit
  double speed = 1;  // of work whose menu does not tell device types apart
  double idle_watts = 0;
  std::vector<PowerPoint> power;  // ascending watts; the last is uncapped; empty: energy unknown
};

enum class NodeClass : std::uint8_t { kOnDemand, kSpot };

// From `at` on, a device of the node costs `per_device_hour`.
struct PriceStep {
  Seconds at = 0;
  double per_device_hour = 0;
};

// Levels of the domain tree, narrow to wide. A node is its own domain.
enum class Level : std::uint8_t { kNode, kLeaf, kRack, kPod, kCluster };
inline constexpr int kLevels = 5;

struct Node {
  std::string name;
  TypeId type = 0;
  DeviceId first_device = 0;  // a node's devices are first_device .. first_device + devices - 1
  std::uint16_t devices = 0;
  NodeClass node_class = NodeClass::kOnDemand;
  std::uint32_t cpu_milli = 0;  // 0: not stated, never a limit
  Bytes memory = 0;             // 0: not stated, never a limit
  double storage_bytes_per_s = 0;
  double network_bytes_per_s = 0;
  std::uint32_t price = 0;                          // index into Cluster::prices
  std::uint32_t domain[kLevels] = {0, 0, 0, 0, 0};  // index of the domain at each level
};

struct Link {
  std::string from, to;
  double bytes_per_s = 0;
  Seconds latency = 0;
};

// Ensures (after finish()): nodes are grouped by no rule, devices are dense in node order, every
// node has at least one device and names an existing type and price.
struct Cluster {
  static constexpr int kMaxDevicesPerNode = 64;

  std::vector<DeviceType> types;
  std::vector<Node> nodes;
  std::vector<Link> links;
  // Names of the domains of a level, by index; empty when nobody named or counted any.
  std::array<std::vector<std::string>, kLevels> domain_names;
  std::vector<std::vector<PriceStep>> prices;  // ascending `at`, first at 0
  std::string text;                            // how the user named it, for reports

  DeviceId device_count() const {
    return nodes.empty() ? 0 : nodes.back().first_device + nodes.back().devices;
  }
  DeviceId device_count(TypeId type) const;
  NodeId node_of(DeviceId device) const { return node_of_device_[device]; }
  TypeId type_of(DeviceId device) const { return nodes[node_of(device)].type; }
  double price_per_hour(NodeId node, Seconds at) const;

  // Numbers the devices and fills the tables behind the look-ups above.
  // Requires: nodes and types are valid. Call once after the last change.
  void finish();

 private:
  std::vector<NodeId> node_of_device_;
};

inline constexpr std::uint64_t kMaxDevices = 16'000'000;

// Reads the shorthand `16x8` (16 nodes of 8 devices) or `v100:2x4,p100:4x4`, or, when `text` names
// a file, the YAML described in docs/formats.md.
Result<Cluster> read_cluster(const std::string& text);
// Only the shorthand.
Result<Cluster> parse_cluster_shorthand(const std::string& text);

}  // namespace weft
