#include "runtime/link_topology.h"

#include <algorithm>

namespace weft::runtime {
namespace {

// Cable c is links 2c (up) and 2c + 1 (down): first those of the ranks, then those of the hosts.
class HostPaths : public Paths {
 public:
  HostPaths(std::uint32_t ranks, std::uint32_t per_host) : ranks_(ranks), per_host_(per_host) {}
  std::uint32_t count(VertexId, VertexId) const override { return 1; }
  void path(VertexId a, VertexId b, std::uint32_t, std::vector<LinkId>& out) const override {
    const std::uint32_t from = a / per_host_, to = b / per_host_;
    out.push_back(2 * a);
    if (from != to) {
      out.push_back(2 * (ranks_ + from));
      out.push_back(2 * (ranks_ + to) + 1);
    }
    out.push_back(2 * b + 1);
  }

 private:
  std::uint32_t ranks_, per_host_;
};

}  // namespace

Topology link_topology(const GroupShape& shape) {
  const auto ranks = static_cast<std::uint32_t>(shape.ranks);
  const auto per_host = static_cast<std::uint32_t>(shape.one_host ? shape.ranks : shape.per_host);
  const std::uint32_t hosts = ranks / per_host;
  const LinkSpeed& near = shape.links.same_host;
  const LinkSpeed& far = shape.links.other_host;
  Topology topology;
  topology.text = "the links of a group";
  topology.endpoints = ranks;
  topology.vertices.resize(ranks, {VertexKind::kEndpoint, 0});
  topology.vertices.resize(ranks + hosts, {VertexKind::kSwitch, 1});
  topology.vertices.push_back({VertexKind::kSwitch, 2});
  topology.names.add_block("rank", ranks);
  topology.names.add_block("host", hosts);
  topology.names.add("network");
  const auto cable = [&](VertexId a, VertexId b, double bytes_per_s, Seconds latency) {
    topology.links.push_back({a, b, bytes_per_s, latency / 2, 0});
    topology.links.push_back({b, a, bytes_per_s, latency / 2, 0});
  };
  // A rank that is alone on its host has no other way than to other hosts.
  const bool alone = per_host == 1 && !shape.one_host;
  const Seconds rank_latency = alone ? 0 : near.message_s;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    cable(rank, ranks + rank / per_host, alone ? far.bytes_per_s : near.bytes_per_s, rank_latency);
  }
  for (std::uint32_t host = 0; host < hosts; ++host) {
    cable(ranks + host, ranks + hosts, far.bytes_per_s * per_host,
          std::max(0.0, far.message_s - rank_latency));
  }
  topology.paths = std::make_shared<HostPaths>(ranks, per_host);
  topology.facts.endpoints_per_node = per_host;
  return topology;
}

}  // namespace weft::runtime
