// Dragonfly (Kim, Dally, Scott and Abts, ISCA 2008) and Dragonfly+ (Shpiner et al., HiPINEB 2017).
#include <fmt/core.h>

#include <algorithm>

#include "fabric/builders/builders.h"
#include "fabric/paths/graph_paths.h"

namespace weft {
namespace {

// So dear that a path crosses two global links only if none crosses one: minimal routing as the
// paper has it, local - global - local at most.
constexpr std::uint8_t kFarCost = 5;

// Global ports of a group are dealt out in rounds of groups - 1; port q of a round leads q + 1
// groups ahead, so that every two groups are joined in every round. Ports of an incomplete round
// stay free.
void join_groups(Wiring& wiring, const DragonflyShape& shape, VertexId first_router) {
  const std::uint32_t g = shape.groups;
  if (g < 2) return;
  const std::uint32_t rounds = shape.routers * shape.global / (g - 1);
  const auto router = [&](std::uint32_t group, std::uint32_t port) {
    return first_router + group * shape.routers + port / shape.global;
  };
  for (std::uint32_t group = 0; group < g; ++group) {
    for (std::uint32_t round = 0; round < rounds; ++round) {
      for (std::uint32_t ahead = 1; group + ahead < g; ++ahead) {
        const std::uint32_t base = round * (g - 1);
        wiring.cable(router(group, base + ahead - 1), router(group + ahead, base + g - ahead - 1),
                     shape.far, kFarCost);
      }
    }
  }
}

void set_groups(Wiring& wiring, std::uint32_t groups, const std::vector<VertexId>& firsts) {
  std::vector<std::uint16_t>& group_of = wiring.topology.facts.group_of;
  const auto total = static_cast<VertexId>(wiring.topology.vertices.size());
  group_of.resize(total);
  for (std::size_t block = 0; block < firsts.size(); ++block) {
    const VertexId end = block + 1 < firsts.size() ? firsts[block + 1] : total;
    const std::uint32_t each = (end - firsts[block]) / groups;
    for (VertexId v = firsts[block]; v < end; ++v) {
      group_of[v] = static_cast<std::uint16_t>((v - firsts[block]) / each);
    }
  }
}

// Valiant's rule: minimally to a router of another group, minimally on from there. A path for each
// group that is neither the first nor the last; minimal ones where there is no such group.
class ValiantPaths final : public Paths {
 public:
  ValiantPaths(const DragonflyShape& shape, VertexId first_router,
               std::vector<std::uint16_t> group_of, std::shared_ptr<const Paths> minimal)
      : groups_(shape.groups),
        routers_(shape.routers),
        first_router_(first_router),
        group_of_(std::move(group_of)),
        minimal_(std::move(minimal)) {}

  std::uint32_t count(VertexId a, VertexId b) const override {
    const std::uint32_t others = groups_ - (group_of_[a] == group_of_[b] ? 1 : 2);
    return others > 0 ? others : minimal_->count(a, b);
  }

  void path(VertexId a, VertexId b, std::uint32_t k, std::vector<LinkId>& out) const override {
    const auto [low, high] = std::minmax(group_of_[a], group_of_[b]);
    if (groups_ == (low == high ? 1U : 2U)) return minimal_->path(a, b, k, out);
    std::uint32_t group = k;
    if (group >= low) ++group;
    if (low != high && group >= high) ++group;
    const VertexId via = first_router_ + group * routers_ + (a + b) % routers_;
    minimal_->path(a, via, 0, out);
    minimal_->path(via, b, 0, out);
  }

 private:
  std::uint32_t groups_, routers_;
  VertexId first_router_;
  std::vector<std::uint16_t> group_of_;
  std::shared_ptr<const Paths> minimal_;  // shared as all paths are
};

Wiring read(Parameters& p, bool plus) {
  DragonflyShape shape;
  shape.hosts = p.count("hosts", 4, 1, 4096);
  shape.routers =
      p.count(plus ? "spines" : "routers", plus ? shape.hosts : 2 * shape.hosts, 1, 4096);
  if (plus) shape.leaves = p.count("leaves", shape.routers, 1, 4096);
  shape.global = p.count("global", shape.hosts, 1, 4096);
  const std::uint32_t ports = shape.routers * shape.global;
  shape.groups = p.count("groups", std::min(ports + 1, 65535U), 1, 65535);
  shape.local = shape.far = p.link(50e9, 1e-6);
  shape.far.bytes_per_s = p.bandwidth("global_bandwidth", shape.local.bytes_per_s);
  shape.far.latency = p.seconds("global_latency", shape.local.latency);
  shape.valiant = p.word("routing", 0, {"minimal", "valiant"}) == 1;
  if (shape.groups > ports + 1) {
    p.complain(fmt::format("{} groups need {} global links each; {} routers x {} give {}",
                           shape.groups, shape.groups - 1, shape.routers, shape.global, ports));
  }
  const double homes = plus ? shape.leaves : shape.routers;
  const double inside = plus ? homes * shape.routers : homes * (homes - 1) / 2;
  p.fits(shape.groups * homes * shape.hosts,
         shape.groups * (homes * shape.hosts + inside + ports / 2.0));
  if (shape.groups * homes * shape.hosts < 2) p.complain("it needs at least 2 endpoints");
  return p.done() ? build_dragonfly(shape) : Wiring{};
}

}  // namespace

Wiring build_dragonfly(const DragonflyShape& shape) {
  const bool plus = shape.leaves > 0;
  const std::uint32_t g = shape.groups, homes = plus ? shape.leaves : shape.routers;
  Wiring wiring;
  const VertexId host = wiring.add("host", VertexKind::kEndpoint, 0, g * homes * shape.hosts);
  const VertexId leaf = wiring.add("leaf", VertexKind::kSwitch, 1, g * shape.leaves);
  const VertexId router =
      wiring.add(plus ? "spine" : "router", VertexKind::kSwitch, plus ? 2 : 1, g * shape.routers);
  const VertexId home = plus ? leaf : router;
  for (std::uint32_t i = 0; i < g * homes * shape.hosts; ++i) {
    wiring.cable(host + i, home + i / shape.hosts, shape.local);
  }
  for (std::uint32_t group = 0; group < g; ++group) {
    const VertexId own = router + group * shape.routers;
    for (std::uint32_t a = 0; a < homes; ++a) {
      for (std::uint32_t b = plus ? 0 : a + 1; b < shape.routers; ++b) {
        wiring.cable(plus ? leaf + group * homes + a : own + a, own + b, shape.local);
      }
    }
  }
  join_groups(wiring, shape, router);
  if (plus) {
    set_groups(wiring, g, {host, leaf, router});
  } else {
    set_groups(wiring, g, {host, router});
  }
  wiring.topology.facts.words =
      plus
          ? fmt::format(
                "Dragonfly+: {} groups of {} leaves and {} spines, {} hosts a leaf, {} "
                "global links a spine",
                g, homes, shape.routers, shape.hosts, shape.global)
          : fmt::format("Dragonfly: {} groups of {} routers, {} hosts and {} global links a router",
                        g, homes, shape.hosts, shape.global);
  if (shape.valiant) {
    const Topology& topology = wiring.topology;
    wiring.topology.facts.words += "; each path leads through a third group";
    wiring.topology.paths = std::make_shared<ValiantPaths>(
        shape, router, topology.facts.group_of, make_graph_paths(topology, wiring.costs, false));
  }
  return wiring;
}

Wiring read_dragonfly(Parameters& p, std::uint32_t) { return read(p, false); }
Wiring read_dragonfly_plus(Parameters& p, std::uint32_t) { return read(p, true); }

}  // namespace weft
