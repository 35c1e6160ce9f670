#include "fabric/wiring.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>

#include "base/check.h"
#include "base/delimited.h"
#include "fabric/paths/graph_paths.h"

namespace weft {
namespace {

bool touches(const DirectedLink& link, VertexId a, VertexId b) {
  if (b == kNoVertex) return link.from == a || link.to == a;
  return (link.from == a && link.to == b) || (link.from == b && link.to == a);
}

// The vertex of that name; a complaint when there is none.
VertexId named(const VertexNames& names, const std::string& name, const LinkChange& change,
               Complaints& complaints) {
  const auto found = names.find(name);
  if (found) return *found;
  complaints.add(
      fmt::format("{}: there is no vertex {}{}", change.text, shown(name), names.near(name)));
  return kNoVertex;
}

void change_link(DirectedLink& link, const LinkChange& change) {
  if (change.kind == LinkChange::Kind::kSpeed) link.bytes_per_s = change.value;
  if (change.kind == LinkChange::Kind::kDegrade) link.bytes_per_s *= change.value;
  if (change.kind == LinkChange::Kind::kFail) link.from = kNoVertex;
}

void apply(Topology& topology, const LinkChange& change, Complaints& complaints) {
  const VertexId a = named(topology.names, change.a, change, complaints);
  const VertexId b =
      change.b.empty() ? kNoVertex : named(topology.names, change.b, change, complaints);
  if (a == kNoVertex || (b == kNoVertex && !change.b.empty())) return;
  bool any = false;
  for (DirectedLink& link : topology.links) {
    if (!touches(link, a, b)) continue;
    any = true;
    change_link(link, change);
  }
  if (!any) complaints.add(fmt::format("{}: no link joins these, or it has failed", change.text));
}

// Links that failed leave; whoever kept ids of links must forget them.
void drop_failed(Wiring& wiring) {
  std::vector<DirectedLink>& links = wiring.topology.links;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < links.size(); ++i) {
    if (links[i].from == kNoVertex) continue;
    links[kept] = links[i];
    wiring.costs[kept++] = wiring.costs[i];
  }
  if (kept == links.size()) return;
  links.resize(kept);
  wiring.costs.resize(kept);
  wiring.topology.paths = nullptr;
  wiring.topology.facts.bisection_bytes_per_s = 0;
  wiring.topology.facts.words +=
      "; failed links are left out and paths are shortest in what is left";
}

// Sets of vertices that reach each other.
class Unions {
 public:
  explicit Unions(std::size_t size) : parent_(size) {
    std::iota(parent_.begin(), parent_.end(), VertexId{0});
  }
  VertexId root(VertexId v) {
    while (parent_[v] != v) v = parent_[v] = parent_[parent_[v]];
    return v;
  }
  void join(VertexId a, VertexId b) { parent_[root(a)] = root(b); }

 private:
  std::vector<VertexId> parent_;
};

struct Pair {
  VertexId a = kNoVertex, b = kNoVertex;
};

// An endpoint that 0 does not reach, or that does not reach 0, when all may forward.
Pair cut_off_forwarding(const Wiring& wiring) {
  const Topology& topology = wiring.topology;
  for (const bool backward : {false, true}) {
    const std::vector<bool> seen = reached_from(topology, 0, backward);
    for (VertexId v = 0; v < topology.endpoints; ++v) {
      if (!seen[v]) return backward ? Pair{v, 0} : Pair{0, v};
    }
  }
  return {};
}

// Two endpoints that share no island of switches and no cable. Requires: all links are two-way.
Pair cut_off(const Wiring& wiring) {
  const Topology& topology = wiring.topology;
  const VertexId n = topology.endpoints;
  Unions islands(topology.vertices.size());
  for (const DirectedLink& link : topology.links) {
    if (link.from >= n && link.to >= n) islands.join(link.from, link.to);
  }
  std::vector<std::vector<VertexId>> touched(n);  // roots of islands, and endpoints next to it
  for (const DirectedLink& link : topology.links) {
    if (link.from < n) touched[link.from].push_back(link.to < n ? link.to : islands.root(link.to));
  }
  const auto meet = [&](VertexId a, VertexId b) {
    return std::any_of(touched[a].begin(), touched[a].end(), [&](VertexId x) {
      return x == b ||
             (x >= n && std::find(touched[b].begin(), touched[b].end(), x) != touched[b].end());
    });
  };
  // Nearly always one island holds everybody; only if none does are pairs looked at one by one.
  for (const VertexId island : touched[0]) {
    if (island < n) continue;
    VertexId v = 0;
    while (v < n && std::find(touched[v].begin(), touched[v].end(), island) != touched[v].end()) {
      ++v;
    }
    if (v == n) return {};
  }
  for (VertexId a = 0; a < n; ++a) {
    for (VertexId b = a + 1; b < n; ++b) {
      if (!meet(a, b)) return {a, b};
    }
  }
  return {};
}

Status check_connected(const Wiring& wiring) {
  if (wiring.topology.endpoints < 2) return {};
  const Pair pair = wiring.endpoints_forward ? cut_off_forwarding(wiring) : cut_off(wiring);
  if (pair.a == kNoVertex) return {};
  const VertexNames& names = wiring.topology.names;
  return Error{ErrorKind::kInvalidInput,
               fmt::format("{}: no path leads from {} to {}; every endpoint must reach every other",
                           wiring.topology.text, names.of(pair.a), names.of(pair.b)),
               wiring.endpoints_forward
                   ? "add the missing link"
                   : "add the missing link, or let endpoints pass traffic on with "
                     "'endpoints_forward: true' in a YAML file"};
}

}  // namespace

VertexId Wiring::add(const std::string& prefix, VertexKind kind, int tier, std::uint32_t count) {
  const auto first = static_cast<VertexId>(topology.vertices.size());
  if (kind == VertexKind::kEndpoint) {
    CHECK(first == topology.endpoints);
    topology.endpoints += count;
  }
  topology.vertices.resize(first + count, Vertex{kind, static_cast<std::uint8_t>(tier)});
  topology.names.add_block(prefix, count);
  return first;
}

LinkId Wiring::one_way(VertexId from, VertexId to, const LinkRate& rate, std::uint8_t cost) {
  CHECK(rate.bytes_per_s > 0 && from != to);
  topology.links.push_back({from, to, rate.bytes_per_s, rate.latency, rate.price_per_byte});
  costs.push_back(cost);
  return next_link() - 1;
}

LinkId Wiring::cable(VertexId a, VertexId b, const LinkRate& rate, std::uint8_t cost) {
  const LinkId id = one_way(a, b, rate, cost);
  one_way(b, a, rate, cost);
  return id;
}

Result<Topology> seal(Wiring wiring, const std::vector<LinkChange>& changes) {
  Complaints complaints;
  for (const LinkChange& change : changes) apply(wiring.topology, change, complaints);
  if (!complaints.empty()) return complaints.error("a link is VERTEX/VERTEX, such as leaf0/spine1");
  if (!changes.empty()) wiring.topology.facts.bisection_bytes_per_s = 0;
  drop_failed(wiring);
  if (wiring.topology.paths == nullptr) {
    if (const Status status = check_connected(wiring); !status.ok()) return status.error();
    wiring.topology.paths =
        make_graph_paths(wiring.topology, std::move(wiring.costs), wiring.endpoints_forward);
  }
  return std::move(wiring.topology);
}

}  // namespace weft
