// The topologies Weft builds by itself. Each is a short function from parameters to wiring, and a
// reader of these parameters; docs/topologies.md lists them with defaults and sources.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fabric/parameters.h"
#include "fabric/paths/clos_fabric.h"
#include "fabric/wiring.h"

namespace weft {

// A reader gives wiring only if `p.done()`; else what it returns is empty. `hosts` is how many
// endpoints to build when the parameters do not say.
using ReadBuilder = Wiring (*)(Parameters& p, std::uint32_t hosts);

// One ideal switch: only the links to it are shared; latency once per message.
Wiring build_switch(std::uint32_t hosts, const LinkRate& rate);
Wiring read_switch(Parameters& p, std::uint32_t hosts);

// Folded Clos, or fat-tree, of two or three levels.
Wiring build_clos(const ClosShape& shape, const ClosRates& rates);
Wiring read_clos(Parameters& p, std::uint32_t hosts);
// Ports of a switch of `radix` ports that lead up when (ports down × their rate) ÷ (ports up ×
// theirs) is to be `oversubscription`, and those that lead down.
struct Ports {
  std::uint32_t up = 0, down = 0;
};
Ports split_ports(std::uint32_t radix, double oversubscription);

// The inside of a machine. NVLink reaches one ideal NVSwitch; GPUs and NICs hang on PCIe switches,
// these on CPU sockets in a chain.
struct NodeShape {
  std::uint32_t gpus = 8, nics = 8, pcie_switches = 8, sockets = 2;
  LinkRate nvlink, pcie, socket;  // nvlink.bytes_per_s 0: there is none
};
// Nodes over a Clos network of their NICs.
struct ClusterShape {
  NodeShape node;
  std::uint32_t nodes = 1;
  bool rails = false;  // NIC i of all nodes on leaves of their own, for each i
  bool relay = false;  // to another rail by NVLink to the GPU that has it, then the rail
  ClosShape network;   // its ports are the NICs
  ClosRates rates;
};
Wiring build_cluster(const ClusterShape& shape);
// The node presets a100, h100, h200, b200, and `rail`, `rail-only` around any of them.
Wiring read_a100(Parameters& p, std::uint32_t hosts);
Wiring read_h100(Parameters& p, std::uint32_t hosts);
Wiring read_h200(Parameters& p, std::uint32_t hosts);
Wiring read_b200(Parameters& p, std::uint32_t hosts);
Wiring read_rail(Parameters& p, std::uint32_t hosts);
Wiring read_rail_only(Parameters& p, std::uint32_t hosts);

Wiring build_torus(const std::vector<std::uint32_t>& sides, const LinkRate& rate);
Wiring read_torus(Parameters& p, std::uint32_t hosts);
Wiring read_hypercube(Parameters& p, std::uint32_t hosts);
// boards[0] × boards[1] boards of board[0] × board[1] endpoints.
Wiring build_hamming_mesh(const std::vector<std::uint32_t>& boards,
                          const std::vector<std::uint32_t>& board, const LinkRate& rate);
Wiring read_hamming_mesh(Parameters& p, std::uint32_t hosts);

struct DragonflyShape {
  std::uint32_t groups = 0, routers = 0, hosts = 0,
                global = 0;  // routers per group, the rest per router
  std::uint32_t leaves = 0;  // dragonfly+: routers have global links only, leaves the hosts
  LinkRate local, far;
  bool valiant = false;  // paths lead through a third group, to spread traffic
};
Wiring build_dragonfly(const DragonflyShape& shape);
Wiring read_dragonfly(Parameters& p, std::uint32_t hosts);
Wiring read_dragonfly_plus(Parameters& p, std::uint32_t hosts);

Wiring build_bcube(std::uint32_t ports, std::uint32_t levels, const LinkRate& rate);
Wiring read_bcube(Parameters& p, std::uint32_t hosts);
Wiring build_dcell(std::uint32_t ports, std::uint32_t levels, const LinkRate& rate);
Wiring read_dcell(Parameters& p, std::uint32_t hosts);

// Strides of `degree` rings through `hosts` endpoints, each prime to `hosts`; fewer if there are
// not so many.
std::vector<std::uint32_t> totient_strides(std::uint32_t hosts, std::uint32_t degree);
Wiring build_topoopt(std::uint32_t hosts, std::uint32_t degree, const LinkRate& rate);
Wiring read_topoopt(Parameters& p, std::uint32_t hosts);

struct WanShape {
  std::uint32_t sites = 0, hosts = 0;  // hosts of each site
  LinkRate local, there, back;         // there: towards the site with the higher number
};
Wiring build_wan(const WanShape& shape);
Wiring read_wan(Parameters& p, std::uint32_t hosts);

}  // namespace weft
