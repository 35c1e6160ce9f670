// What it is trained on: devices, the links inside a node, and the network between nodes.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/readers/table_reader.h"

namespace weft::planner {

inline constexpr double kGB = 1e9, kGiBytes = 1024.0 * 1024 * 1024;  // bytes
inline constexpr double kTera = 1e12;

// One type of accelerator. Data-sheet values, then constants that were measured on it (or on the
// type named in docs/planner.md, where nothing public was measured on this one).
struct Device {
  std::string name;
  double peak_flops = 0;  // dense, 16-bit floating point
  int processors = 1;     // that tiles of a matrix product are dealt to
  double memory_bytes = 0;
  double memory_bytes_per_s = 0;
  double host_bytes_per_s = 0;  // to and from the host's memory at once, each way
  int host_sharers = 2;         // devices behind one uplink to the host

  // Share of the peak that a full wave reaches with tiles of 256x128, 128x128, and below.
  std::array<double, 3> tile_efficiency = {0.787, 0.770, 0.767};
  double kernel_s = 4.7e-6;         // from launch to end of a kernel that has nothing to do
  double memory_efficiency = 0.80;  // share of the data sheet's bandwidth that is reached

  // Links inside a node: a ring over n devices moves
  // link_bytes_per_s * (1 - kRingLoss / n) and waits link_base_s + n * link_rank_s.
  double link_bytes_per_s = 0;
  double link_base_s = 35e-6;
  double link_rank_s = 2.5e-6;
  double link_floor_s = 12e-6;  // per device: no all-reduce is faster than n of these
  int node = 8;                 // devices of a node

  double price_per_hour = 0;  // of one device, in any currency; 0: not known

  // When all devices of a node use it.
  double shared_host_bytes_per_s() const { return host_bytes_per_s / host_sharers; }
};

// Between nodes.
struct Network {
  std::string name;
  int cards = 8;                // per node
  double card_bytes_per_s = 0;  // one direction
  double efficiency = 0.88;     // share of it that large messages reach
  double latency_s = 4.8e-6;    // of one step of a ring
};

struct Machines {
  Device device;
  Network network;
  double host_memory_bytes = 0;  // per device

  // What one device can send between nodes when all of its node do.
  double device_network_bytes_per_s() const {
    return network.cards * network.card_bytes_per_s * network.efficiency / device.node;
  }
};

const std::vector<Device>& devices();
const std::vector<Network>& networks();
// The network that usually comes with a device.
const Network& usual_network(const Device& device);

// By name (case and punctuation do not matter). The error suggests one that is near.
Result<Device> find_device(const std::string& name);
Result<Network> find_network(const std::string& name);
// A device's name, or a path to YAML with `device`, `network` and changes to either.
// `network` "": the usual one.
Result<Machines> find_machines(const std::string& name_or_path, const std::string& network);
Result<Machines> parse_machines(const TextFile& file);

// Devices of one kind among several.
struct Pool {
  Machines machines;
  int devices = 1;
};
inline constexpr std::size_t kMostPools = 4;  // all orders of them are tried
// YAML with a list `pools` of machines with `devices` each. Empty: `path` is no such file.
Result<std::vector<Pool>> read_pools(const std::string& path);
Result<std::vector<Pool>> parse_pools(const TextFile& file);

}  // namespace weft::planner
