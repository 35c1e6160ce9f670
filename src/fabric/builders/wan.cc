// Sites joined by long links with a delay, a rate each way and a price.
#include <fmt/core.h>

#include "fabric/builders/builders.h"

namespace weft {

Wiring build_wan(const WanShape& shape) {
  Wiring wiring;
  const VertexId host = wiring.add("host", VertexKind::kEndpoint, 0, shape.sites * shape.hosts);
  const VertexId site = wiring.add("site", VertexKind::kSwitch, 1, shape.sites);
  for (std::uint32_t i = 0; i < shape.sites * shape.hosts; ++i) {
    wiring.cable(host + i, site + i / shape.hosts, shape.local);
  }
  for (std::uint32_t i = 0; i < shape.sites; ++i) {
    for (std::uint32_t j = i + 1; j < shape.sites; ++j) {
      wiring.one_way(site + i, site + j, shape.there);
      wiring.one_way(site + j, site + i, shape.back);
    }
  }
  TopologyFacts& facts = wiring.topology.facts;
  facts.words = fmt::format("{} sites of {} hosts, each two joined by a link of their own",
                            shape.sites, shape.hosts);
  for (std::uint32_t i = 0; i < shape.sites * shape.hosts; ++i) {
    facts.group_of.push_back(static_cast<std::uint16_t>(i / shape.hosts));
  }
  for (std::uint32_t i = 0; i < shape.sites; ++i) {
    facts.group_of.push_back(static_cast<std::uint16_t>(i));
  }
  return wiring;
}

Wiring read_wan(Parameters& p, std::uint32_t) {
  WanShape shape;
  shape.sites = p.count("sites", 2, 2, 1000);
  shape.hosts = p.count("hosts", 8, 1, kMaxEndpoints);
  shape.local = p.link(12.5e9, 1e-6);
  shape.there.bytes_per_s = p.bandwidth("wan_bandwidth", 1.25e9);
  shape.back.bytes_per_s = p.bandwidth("wan_back_bandwidth", shape.there.bytes_per_s);
  shape.there.latency = shape.back.latency = p.seconds("delay", 30e-3);
  shape.there.price_per_byte = shape.back.price_per_byte =
      p.number("price_per_gb", 0, 0, 1e6) / 1e9;
  p.fits(1.0 * shape.sites * shape.hosts, 1.0 * shape.sites * (shape.hosts + shape.sites / 2.0));
  return p.done() ? build_wan(shape) : Wiring{};
}

}  // namespace weft
