#include "fabric/max_flow.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "base/check.h"

namespace weft {
namespace {

enum class Side : std::uint8_t { kFrom, kTo, kNeither };

// Arcs in pairs: an arc and its reverse, which takes back what the arc gave.
class Dinic {
 public:
  Dinic(const Topology& topology, const std::vector<Side>& side)
      : source_(static_cast<VertexId>(topology.vertices.size())), sink_(source_ + 1) {
    for (const DirectedLink& link : topology.links) largest_ = std::max(largest_, link.bytes_per_s);
    std::vector<std::uint32_t> degree(sink_ + 2, 0);
    const auto count = [&](VertexId a, VertexId b) {
      ++degree[a];
      ++degree[b];
    };
    for (const DirectedLink& link : topology.links) count(link.from, link.to);
    for (VertexId v = 0; v < topology.endpoints; ++v) {
      if (side[v] != Side::kNeither) count(side[v] == Side::kFrom ? source_ : sink_, v);
    }
    first_.assign(sink_ + 2, 0);
    for (VertexId v = 0; v <= sink_; ++v) first_[v + 1] = first_[v] + degree[v];
    arcs_.resize(first_.back());
    next_.assign(first_.begin(), first_.end() - 1);
    for (const DirectedLink& link : topology.links) add(link.from, link.to, link.bytes_per_s);
    const double endless = std::numeric_limits<double>::infinity();
    for (VertexId v = 0; v < topology.endpoints; ++v) {
      if (side[v] == Side::kFrom) add(source_, v, endless);
      if (side[v] == Side::kTo) add(v, sink_, endless);
    }
  }

  double run() {
    double total = 0;
    while (find_levels()) {
      next_.assign(first_.begin(), first_.end() - 1);
      while (const double pushed = augment()) total += pushed;
    }
    return total;
  }

 private:
  struct Arc {
    VertexId to = 0;
    std::uint32_t reverse = 0;
    double left = 0;
  };

  void add(VertexId a, VertexId b, double capacity) {
    const std::uint32_t there = next_[a]++, back = next_[b]++;
    arcs_[there] = {b, back, capacity};
    arcs_[back] = {a, there, 0};
  }
  // Rounding leaves crumbs; they carry nothing.
  bool open(const Arc& arc) const { return arc.left > largest_ * 1e-12; }

  bool find_levels() {
    level_.assign(sink_ + 1, -1);
    level_[source_] = 0;
    std::vector<VertexId> queue{source_};
    for (std::size_t i = 0; i < queue.size(); ++i) {
      const VertexId v = queue[i];
      for (std::uint32_t a = first_[v]; a < first_[v + 1]; ++a) {
        if (level_[arcs_[a].to] >= 0 || !open(arcs_[a])) continue;
        level_[arcs_[a].to] = level_[v] + 1;
        queue.push_back(arcs_[a].to);
      }
    }
    return level_[sink_] >= 0;
  }

  // Walks forward along levels, back out of dead ends, and fills one path. 0: no path is left.
  double augment() {
    std::vector<std::uint32_t> path;
    VertexId v = source_;
    while (v != sink_) {
      std::uint32_t& a = next_[v];
      while (a < first_[v + 1] && !(open(arcs_[a]) && level_[arcs_[a].to] == level_[v] + 1)) ++a;
      if (a < first_[v + 1]) {
        path.push_back(a);
        v = arcs_[a].to;
        continue;
      }
      if (path.empty()) return 0;
      level_[v] = -1;
      v = arcs_[arcs_[path.back()].reverse].to;
      path.pop_back();
    }
    double least = std::numeric_limits<double>::infinity();
    for (const std::uint32_t a : path) least = std::min(least, arcs_[a].left);
    for (const std::uint32_t a : path) {
      arcs_[a].left -= least;
      arcs_[arcs_[a].reverse].left += least;
    }
    return least;
  }

  VertexId source_, sink_;
  double largest_ = 0;
  std::vector<std::uint32_t> first_, next_;
  std::vector<Arc> arcs_;
  std::vector<int> level_;
};

}  // namespace

double max_flow(const Topology& topology, const std::vector<bool>& side) {
  CHECK(side.size() == topology.endpoints);
  std::vector<Side> sides(side.size());
  for (std::size_t v = 0; v < side.size(); ++v) sides[v] = side[v] ? Side::kFrom : Side::kTo;
  return Dinic(topology, sides).run();
}

double max_flow(const Topology& topology, const std::vector<VertexId>& from,
                const std::vector<VertexId>& to) {
  std::vector<Side> sides(topology.endpoints, Side::kNeither);
  for (const VertexId v : from) sides[v] = Side::kFrom;
  for (const VertexId v : to) {
    CHECK(sides[v] == Side::kNeither);
    sides[v] = Side::kTo;
  }
  return Dinic(topology, sides).run();
}

}  // namespace weft
