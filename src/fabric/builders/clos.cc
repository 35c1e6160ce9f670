// One switch, and folded Clos networks.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/quantity.h"
#include "fabric/builders/builders.h"

namespace weft {
namespace {

class ClosPaths final : public Paths {
 public:
  explicit ClosPaths(const ClosFabric& fabric) : fabric_(fabric) {}
  std::uint32_t count(VertexId a, VertexId b) const override { return fabric_.count(a, b); }
  void path(VertexId a, VertexId b, std::uint32_t k, std::vector<LinkId>& out) const override {
    fabric_.path(a, b, k, out);
  }

 private:
  ClosFabric fabric_;
};

// Halves made of whole pods (or whole leaves, if there is one pod) are joined by the least: traffic
// between them passes every tier, so the narrowest decides. Only where such halves exist.
void set_bisection(const ClosShape& shape, const ClosRates& rates, TopologyFacts& facts) {
  const bool whole =
      shape.ports % shape.per_leaf == 0 && shape.leaves() % shape.leaves_per_pod == 0;
  const std::uint32_t halves = shape.pods() > 1 ? shape.pods() : shape.leaves();
  if (shape.ports % 2 != 0 || !whole || (shape.leaves() > 1 && halves % 2 != 0)) return;
  double least = shape.ports / 2.0 * rates.port.bytes_per_s;
  if (shape.leaves() > 1) {
    least = std::min(least, shape.leaves() / 2.0 * shape.spines * rates.spine.bytes_per_s);
  }
  if (shape.pods() > 1) {
    least =
        std::min(least, shape.pods() / 2.0 * shape.spines * shape.cores * rates.core.bytes_per_s);
  }
  facts.bisection_bytes_per_s = least;
  facts.bisection_rule =
      "by formula: the narrowest tier between two halves of whole pods or leaves";
}

void set_oversubscription(const ClosShape& shape, const ClosRates& rates, TopologyFacts& facts) {
  if (shape.spines > 0) {
    facts.oversubscription.push_back({"leaf", shape.per_leaf * rates.port.bytes_per_s /
                                                  (shape.spines * rates.spine.bytes_per_s)});
  }
  if (shape.cores > 0) {
    facts.oversubscription.push_back({"spine", shape.leaves_per_pod * rates.spine.bytes_per_s /
                                                   (shape.cores * rates.core.bytes_per_s)});
  }
}

void read_shape(Parameters& p, std::uint32_t hosts, const ClosRates& rates, ClosShape& shape) {
  const std::uint32_t radix = p.count("radix", 64, 2, kMaxEndpoints);
  const double leaf_ratio = p.number("oversubscription", 1, 0, 1e6);
  const double spine_ratio = p.number("core_oversubscription", 1, 0, 1e6);
  const Ports leaf =
      split_ports(radix, leaf_ratio * rates.spine.bytes_per_s / rates.port.bytes_per_s);
  const Ports spine =
      split_ports(radix, spine_ratio * rates.core.bytes_per_s / rates.spine.bytes_per_s);
  shape.ports = p.count("hosts", hosts, 2, kMaxEndpoints);
  shape.per_leaf = p.count("hosts_per_leaf", leaf.down, 1, kMaxEndpoints);
  shape.spines = p.count("spines", leaf.up, 1, 65536);
  shape.leaves_per_pod = shape.leaves();
  const bool fits_two = shape.leaves() <= radix;
  const bool three = p.has("leaves_per_pod") || p.has("cores") ||
                     (!fits_two && !p.has("hosts_per_leaf") && !p.has("spines"));
  const std::uint32_t levels = p.count("levels", three ? 3 : 2, 2, 3);
  const std::uint32_t pod = p.count("leaves_per_pod", spine.down, 1, kMaxEndpoints);
  const std::uint32_t cores = p.count("cores", spine.up, 1, 65536);
  if (levels == 3) {
    shape.leaves_per_pod = pod;
    shape.cores = cores;
  }
  const std::uint32_t top_ports = levels == 3 ? shape.pods() : shape.leaves();
  if (p.has("radix") && top_ports > radix) {
    p.complain(
        fmt::format("the top switches would need {} ports; the radix is {}; use more "
                    "levels or a larger radix",
                    top_ports, radix));
  }
}

}  // namespace

Ports split_ports(std::uint32_t radix, double oversubscription) {
  Ports ports;
  ports.up = static_cast<std::uint32_t>(
      std::clamp(std::floor(radix / (1 + oversubscription)), 1.0, radix - 1.0));
  ports.down = static_cast<std::uint32_t>(std::clamp(std::floor(ports.up * oversubscription), 1.0,
                                                     static_cast<double>(radix - ports.up)));
  return ports;
}

Wiring build_clos(const ClosShape& shape, const ClosRates& rates) {
  Wiring wiring;
  const VertexId host = wiring.add("host", VertexKind::kEndpoint, 0, shape.ports);
  ClosFabric fabric;
  fabric.wire(
      wiring, shape, rates, [host](std::uint32_t port) { return host + port; }, 1, 1);
  TopologyFacts& facts = wiring.topology.facts;
  const bool three = shape.cores > 0;
  facts.words = shape.spines == 0
                    ? fmt::format("{} hosts on one switch", shape.ports)
                    : fmt::format("{}-level Clos: {} leaves of {} hosts, {} {}", three ? 3 : 2,
                                  shape.leaves(), shape.per_leaf, shape.spines,
                                  three ? fmt::format("spines in each of {} pods, {} cores",
                                                      shape.pods(), shape.spines * shape.cores)
                                        : "spines");
  set_bisection(shape, rates, facts);
  set_oversubscription(shape, rates, facts);
  wiring.topology.paths = std::make_shared<ClosPaths>(fabric);
  return wiring;
}

Wiring read_clos(Parameters& p, std::uint32_t hosts) {
  ClosRates rates;
  rates.port = p.link(50e9, 1e-6);
  rates.spine = rates.core = rates.port;
  rates.spine.bytes_per_s = p.bandwidth("uplink_bandwidth", rates.port.bytes_per_s);
  rates.core.bytes_per_s = p.bandwidth("core_bandwidth", rates.spine.bytes_per_s);
  ClosShape shape;
  read_shape(p, hosts, rates, shape);
  p.fits(shape.ports, static_cast<double>(shape.cables()));
  return p.done() ? build_clos(shape, rates) : Wiring{};
}

Wiring build_switch(std::uint32_t hosts, const LinkRate& rate) {
  ClosShape shape;
  shape.ports = shape.per_leaf = hosts;
  ClosRates rates;
  rates.port = rate;
  rates.port.latency = 0;
  Wiring wiring = build_clos(shape, rates);
  wiring.topology.message_overhead = rate.latency;  // once per message, not per link
  return wiring;
}

Wiring read_switch(Parameters& p, std::uint32_t hosts) {
  const LinkRate rate = p.link(50e9, 1e-6);
  const std::uint32_t count = p.count("hosts", hosts, 2, kMaxEndpoints);
  return p.done() ? build_switch(count, rate) : Wiring{};
}

}  // namespace weft
