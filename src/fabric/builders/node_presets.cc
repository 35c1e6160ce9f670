// Node presets with the sources of their figures, and how clusters of them are read.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "fabric/builders/builders.h"

namespace weft {
namespace {

struct NodePreset {
  double nvlink, pcie, nic;  // bytes per second and direction
  std::uint32_t pcie_switches;
};

// NVLink is what communication kernels reach, not the line rate.
//   A100: 12 links of 25 GB/s; 230 GB/s reached (NVIDIA in NVIDIA/nccl-tests issue 149).
//   H100, H200: 18 links of 25 GB/s; 370 GB/s reached (NVIDIA in NVIDIA/nccl-tests issue 212).
//   B200: 18 links of 50 GB/s; 770 GB/s measured between two GPUs of a GB200 with nvbandwidth
//   (Azure/AI-benchmarking-guide issue 7).
// PCIe x16: 16 or 32 GT/s × 16 lanes × 128/130. DGX A100 has a PCIe switch for two GPUs and two
// NICs; HGX H100 and later one for each GPU and its NIC (graphs printed by NCCL in NVIDIA/nccl
// issue 1367). NICs: HDR 200 Gb/s with A100 (NVIDIA/nccl issue 812), NDR 400 Gb/s with the others
// (NVIDIA/nccl-tests issue 389 for B200).
constexpr double kPcie4 = 16e9 * 16 / 8 * 128 / 130, kPcie5 = 2 * kPcie4;
constexpr NodePreset kA100{230e9, kPcie4, 25e9, 4};
constexpr NodePreset kH100{370e9, kPcie5, 50e9, 8};
constexpr NodePreset kB200{770e9, kPcie5, 50e9, 8};
// Between sockets: assumed; no path of the presets crosses it unless GPUs share far NICs.
constexpr double kSocketBandwidth = 40e9;

enum class Network { kRail, kRailOnly, kClos };

NodeShape read_node(Parameters& p, const NodePreset& preset) {
  NodeShape node;
  node.gpus = p.count("gpus", 8, 1, 256);
  const std::uint32_t nics = p.count("nics", std::min(node.gpus, 8U), 1, node.gpus);
  node.nics = p.count("rails", nics, 1, node.gpus);
  node.pcie_switches =
      p.count("pcie_switches", std::min(node.gpus, preset.pcie_switches), 1, node.gpus);
  node.sockets = p.count("sockets", std::min(2U, node.pcie_switches), 1, node.pcie_switches);
  const bool nvlink = p.flag("nvlink", true);
  const Seconds latency = p.seconds("node_latency", 0);
  node.nvlink = {p.bandwidth("nvlink_bandwidth", preset.nvlink), latency, 0};
  if (!nvlink) node.nvlink.bytes_per_s = 0;
  node.pcie = {p.bandwidth("pcie_bandwidth", preset.pcie), latency, 0};
  node.socket = {p.bandwidth("socket_bandwidth", kSocketBandwidth), latency, 0};
  return node;
}

void read_network(Parameters& p, Network kind, ClusterShape& shape) {
  ClosShape& network = shape.network;
  const std::uint32_t radix = p.count("radix", 64, 2, kMaxEndpoints);
  const double down_per_up = p.number("oversubscription", 1, 0, 1e6) *
                             shape.rates.spine.bytes_per_s / shape.rates.port.bytes_per_s;
  const Ports ports = split_ports(radix, down_per_up);
  network.ports = shape.nodes * shape.node.nics;
  shape.rails = kind != Network::kClos;
  if (shape.rails) network.group = shape.nodes;
  const std::uint32_t group = shape.rails ? shape.nodes : network.ports;
  // Rails of their own need no way up while one switch holds all nodes of a rail.
  const bool lone = kind == Network::kRailOnly && shape.nodes <= radix;
  network.per_leaf =
      p.count("nics_per_leaf", lone ? shape.nodes : std::min(group, ports.down), 1, kMaxEndpoints);
  const bool islands = kind == Network::kRailOnly && network.per_leaf >= shape.nodes;
  // A leaf that is not full needs fewer ways up.
  const double ways_up = std::ceil(network.per_leaf / down_per_up);
  const auto spines = static_cast<std::uint32_t>(std::min<double>(ports.up, ways_up));
  network.spines = islands ? 0 : p.count("spines", spines, 1, 65536);
  network.leaves_per_pod =
      kind == Network::kRailOnly ? network.leaves_per_group() : network.leaves();
  if (p.has("radix") && network.spines > 0 && network.leaves_per_pod > radix) {
    p.complain(fmt::format("a spine would need {} ports, one for each leaf; the radix is {}",
                           network.leaves_per_pod, radix));
  }
  const bool by_nvlink = p.word("cross_rail", 0, {"nvlink", "spine"}) == 0;
  shape.relay = shape.rails && by_nvlink && shape.node.nvlink.bytes_per_s > 0;
  if (kind == Network::kRailOnly && !shape.relay && shape.node.nics > 1 && shape.nodes > 1) {
    p.complain(
        "rails without spines reach each other over NVLink only; leave out "
        "'nvlink=false' and 'cross_rail=spine'");
  }
}

Wiring cluster_wiring(Parameters& p, const NodePreset& preset, std::uint32_t nodes, Network kind) {
  ClusterShape shape;
  shape.nodes = p.count("nodes", nodes, 1, kMaxEndpoints);
  shape.node = read_node(p, preset);
  shape.rates.port = p.link(preset.nic, 1e-6);
  shape.rates.spine = shape.rates.core = shape.rates.port;
  shape.rates.spine.bytes_per_s = p.bandwidth("uplink_bandwidth", shape.rates.port.bytes_per_s);
  const double endpoints = double{1} * shape.nodes * shape.node.gpus;
  if (!p.fits(endpoints, endpoints * 4)) shape.nodes = 1;
  read_network(p, kind, shape);
  p.fits(endpoints, 4 * endpoints + static_cast<double>(shape.network.cables()));
  return p.done() ? build_cluster(shape) : Wiring{};
}

Wiring read_preset(Parameters& p, const NodePreset& preset) {
  const int kind = p.word("network", 0, {"rail", "rail-only", "clos"});
  return cluster_wiring(p, preset, 1, static_cast<Network>(kind));
}

Wiring read_rails(Parameters& p, std::uint32_t hosts, Network kind) {
  const int node = p.word("node", 1, {"a100", "h100", "h200", "b200"});
  const NodePreset& preset = node == 0 ? kA100 : node == 3 ? kB200 : kH100;
  return cluster_wiring(p, preset, std::max(2U, (hosts + 7) / 8), kind);
}

}  // namespace

Wiring read_a100(Parameters& p, std::uint32_t) { return read_preset(p, kA100); }
Wiring read_h100(Parameters& p, std::uint32_t) { return read_preset(p, kH100); }
Wiring read_h200(Parameters& p, std::uint32_t) { return read_preset(p, kH100); }
Wiring read_b200(Parameters& p, std::uint32_t) { return read_preset(p, kB200); }
Wiring read_rail(Parameters& p, std::uint32_t hosts) {
  return read_rails(p, hosts, Network::kRail);
}
Wiring read_rail_only(Parameters& p, std::uint32_t hosts) {
  return read_rails(p, hosts, Network::kRailOnly);
}

}  // namespace weft
