// Machines with GPUs, NVLink, PCIe, sockets and NICs, over a Clos network or rails.
#include <fmt/core.h>

#include <algorithm>

#include "base/check.h"
#include "base/quantity.h"
#include "fabric/builders/builders.h"

namespace weft {
namespace {

// Routing costs when links have failed: NVLink before everything, then PCIe and network alike, the
// sockets last, so that a lost NIC is replaced by that of a neighbour on NVLink.
constexpr std::uint8_t kNvlinkCost = 1, kOtherCost = 2, kSocketCost = 4;

// The cables of one node, in order: each GPU to the NVSwitch, each GPU to its PCIe switch, each NIC
// to its, each PCIe switch to its socket, each socket to the next.
struct NodeCables {
  NodeShape shape;
  std::uint32_t nvlinks() const { return shape.nvlink.bytes_per_s > 0 ? shape.gpus : 0; }
  std::uint32_t gpu_pcie(std::uint32_t gpu) const { return nvlinks() + gpu; }
  std::uint32_t nic_pcie(std::uint32_t nic) const { return nvlinks() + shape.gpus + nic; }
  std::uint32_t pcie_socket(std::uint32_t s) const {
    return nvlinks() + shape.gpus + shape.nics + s;
  }
  std::uint32_t socket_socket(std::uint32_t s) const {
    return pcie_socket(shape.pcie_switches) + s;
  }
  std::uint32_t count() const { return socket_socket(shape.sockets - 1); }

  std::uint32_t switch_of_gpu(std::uint32_t gpu) const {
    return gpu * shape.pcie_switches / shape.gpus;
  }
  std::uint32_t switch_of_nic(std::uint32_t nic) const {
    return nic * shape.pcie_switches / shape.nics;
  }
  std::uint32_t socket_of(std::uint32_t pcie) const {
    return pcie * shape.sockets / shape.pcie_switches;
  }
  std::uint32_t nic_of(std::uint32_t gpu) const { return gpu * shape.nics / shape.gpus; }
  // The first GPU whose NIC it is.
  std::uint32_t gpu_of(std::uint32_t nic) const {
    return (nic * shape.gpus + shape.nics - 1) / shape.nics;
  }
};

class ClusterPaths final : public Paths {
 public:
  ClusterPaths(const ClusterShape& shape, const ClosFabric& network)
      : shape_(shape), cables_{shape.node}, network_(network) {}

  std::uint32_t count(VertexId a, VertexId b) const override {
    const Trip trip = plan(a, b);
    return trip.inside ? 1
                       : network_.count(port(trip.from, trip.nic_out), port(trip.to, trip.nic_in));
  }

  void path(VertexId a, VertexId b, std::uint32_t k, std::vector<LinkId>& out) const override {
    const Trip trip = plan(a, b);
    const std::uint32_t i = a % shape_.node.gpus, j = b % shape_.node.gpus;
    if (trip.inside) {
      CHECK(k == 0);
      return across(trip.from, i, j, out);
    }
    if (trip.relay != i) across(trip.from, i, trip.relay, out);
    up(trip.from, cables_.gpu_pcie(trip.relay), out);
    between(trip.from, cables_.switch_of_gpu(trip.relay), cables_.switch_of_nic(trip.nic_out), out);
    down(trip.from, cables_.nic_pcie(trip.nic_out), out);
    network_.path(port(trip.from, trip.nic_out), port(trip.to, trip.nic_in), k, out);
    up(trip.to, cables_.nic_pcie(trip.nic_in), out);
    between(trip.to, cables_.switch_of_nic(trip.nic_in), cables_.switch_of_gpu(j), out);
    down(trip.to, cables_.gpu_pcie(j), out);
  }

 private:
  struct Trip {
    bool inside = false;
    std::uint32_t from = 0, to = 0, relay = 0, nic_out = 0, nic_in = 0;
  };

  Trip plan(VertexId a, VertexId b) const {
    const std::uint32_t gpus = shape_.node.gpus;
    Trip trip{a / gpus == b / gpus, a / gpus, b / gpus, a % gpus, 0, 0};
    trip.nic_out = cables_.nic_of(a % gpus);
    trip.nic_in = cables_.nic_of(b % gpus);
    if (shape_.relay && trip.nic_out != trip.nic_in) {
      trip.nic_out = trip.nic_in;
      trip.relay = cables_.gpu_of(trip.nic_in);
    }
    return trip;
  }

  std::uint32_t port(std::uint32_t node, std::uint32_t nic) const {
    return shape_.rails ? nic * shape_.nodes + node : node * shape_.node.nics + nic;
  }
  // A cable of a node away from, or towards, the device that it is listed under.
  void up(std::uint32_t node, std::uint32_t cable, std::vector<LinkId>& out) const {
    out.push_back(2 * (node * cables_.count() + cable));
  }
  void down(std::uint32_t node, std::uint32_t cable, std::vector<LinkId>& out) const {
    out.push_back(2 * (node * cables_.count() + cable) + 1);
  }

  // From PCIe switch to PCIe switch.
  void between(std::uint32_t node, std::uint32_t a, std::uint32_t b,
               std::vector<LinkId>& out) const {
    if (a == b) return;
    up(node, cables_.pcie_socket(a), out);
    const std::uint32_t from = cables_.socket_of(a), to = cables_.socket_of(b);
    for (std::uint32_t s = from; s < to; ++s) up(node, cables_.socket_socket(s), out);
    for (std::uint32_t s = from; s > to; --s) down(node, cables_.socket_socket(s - 1), out);
    down(node, cables_.pcie_socket(b), out);
  }

  // From GPU to GPU of one node.
  void across(std::uint32_t node, std::uint32_t i, std::uint32_t j,
              std::vector<LinkId>& out) const {
    if (cables_.nvlinks() > 0) {
      up(node, i, out);
      return down(node, j, out);
    }
    up(node, cables_.gpu_pcie(i), out);
    between(node, cables_.switch_of_gpu(i), cables_.switch_of_gpu(j), out);
    down(node, cables_.gpu_pcie(j), out);
  }

  ClusterShape shape_;
  NodeCables cables_;
  ClosFabric network_;
};

struct NodeVertices {
  VertexId gpu, nvswitch, pcie, socket, nic;
};

void wire_nodes(Wiring& wiring, const ClusterShape& shape, const NodeVertices& first) {
  const NodeShape& node = shape.node;
  const NodeCables cables{node};
  for (std::uint32_t n = 0; n < shape.nodes; ++n) {
    const VertexId gpu = first.gpu + n * node.gpus, nic = first.nic + n * node.nics;
    const VertexId pcie = first.pcie + n * node.pcie_switches;
    const VertexId socket = first.socket + n * node.sockets;
    for (std::uint32_t i = 0; i < cables.nvlinks(); ++i) {
      wiring.cable(gpu + i, first.nvswitch + n, node.nvlink, kNvlinkCost);
    }
    for (std::uint32_t i = 0; i < node.gpus; ++i) {
      wiring.cable(gpu + i, pcie + cables.switch_of_gpu(i), node.pcie, kOtherCost);
    }
    for (std::uint32_t i = 0; i < node.nics; ++i) {
      wiring.cable(nic + i, pcie + cables.switch_of_nic(i), node.pcie, kOtherCost);
    }
    for (std::uint32_t i = 0; i < node.pcie_switches; ++i) {
      wiring.cable(pcie + i, socket + cables.socket_of(i), node.pcie, kSocketCost);
    }
    for (std::uint32_t i = 0; i + 1 < node.sockets; ++i) {
      wiring.cable(socket + i, socket + i + 1, node.socket, kSocketCost);
    }
  }
}

std::string words(const ClusterShape& shape) {
  std::string text = fmt::format("{} node{} of {} GPUs", shape.nodes, shape.nodes == 1 ? "" : "s",
                                 shape.node.gpus);
  if (shape.node.nvlink.bytes_per_s > 0) {
    text += fmt::format(" with NVLink at {} per direction",
                        bytes_per_s_text(shape.node.nvlink.bytes_per_s));
  }
  if (shape.nodes == 1) return text;
  const ClosShape& network = shape.network;
  text += fmt::format(", {} NICs each on {} leaves and {} spines", shape.node.nics,
                      network.leaves(), network.pods() * network.spines);
  if (shape.rails)
    text += shape.network.cores == 0 && network.pods() > 1 ? ", rails apart" : ", by rails";
  if (shape.relay) text += "; another rail is reached over NVLink";
  return text;
}

}  // namespace

Wiring build_cluster(const ClusterShape& shape) {
  Wiring wiring;
  const NodeShape& node = shape.node;
  const std::uint32_t n = shape.nodes;
  NodeVertices first{};
  first.gpu = wiring.add("gpu", VertexKind::kEndpoint, 0, n * node.gpus);
  first.nvswitch =
      wiring.add("nvswitch", VertexKind::kSwitch, 1, node.nvlink.bytes_per_s > 0 ? n : 0);
  first.pcie = wiring.add("pcie", VertexKind::kBridge, 1, n * node.pcie_switches);
  first.socket = wiring.add("cpu", VertexKind::kBridge, 2, n * node.sockets);
  first.nic = wiring.add("nic", VertexKind::kNic, 2, n * node.nics);
  wire_nodes(wiring, shape, first);
  ClosFabric network;
  if (n > 1) {
    const auto nic_of = [&](std::uint32_t port) {
      return shape.rails ? first.nic + port % n * node.nics + port / n : first.nic + port;
    };
    network.wire(wiring, shape.network, shape.rates, nic_of, 3, kOtherCost);
  }
  TopologyFacts& facts = wiring.topology.facts;
  facts.words = words(shape);
  facts.endpoints_per_node = node.gpus;
  if (n > 1 && shape.network.spines > 0) {
    facts.oversubscription.push_back(
        {"leaf", shape.network.per_leaf * shape.rates.port.bytes_per_s /
                     (shape.network.spines * shape.rates.spine.bytes_per_s)});
  }
  wiring.endpoints_forward = shape.relay;
  wiring.topology.paths = std::make_shared<ClusterPaths>(shape, network);
  return wiring;
}

}  // namespace weft
