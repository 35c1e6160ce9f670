#include "fabric/paths/graph_paths.h"

#include <algorithm>
#include <limits>
#include <list>
#include <mutex>
#include <unordered_map>

#include "base/check.h"

namespace weft {
namespace {

// The links of a graph filed by the vertex at one end.
struct Adjacency {
  std::vector<std::uint32_t> first;  // of each vertex, in `links`; one more at the end
  std::vector<LinkId> links;

  Adjacency(const Topology& topology, bool incoming)
      : first(topology.vertices.size() + 1, 0), links(topology.links.size()) {
    const auto end_of = [&](const DirectedLink& link) { return incoming ? link.to : link.from; };
    for (const DirectedLink& link : topology.links) ++first[end_of(link) + 1];
    for (std::size_t v = 1; v < first.size(); ++v) first[v] += first[v - 1];
    std::vector<std::uint32_t> next(first.begin(), first.end() - 1);
    for (LinkId id = 0; id < topology.links.size(); ++id) {
      links[next[end_of(topology.links[id])]++] = id;
    }
  }
};

constexpr std::uint32_t kFar = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint32_t kMany = std::numeric_limits<std::uint32_t>::max();

// Towards one destination: the cost left from each vertex, and how many cheapest ways there are.
struct Tree {
  std::vector<std::uint32_t> cost, ways;
};

class GraphPaths final : public Paths {
 public:
  GraphPaths(const Topology& topology, std::vector<std::uint8_t> costs, bool endpoints_forward)
      : endpoints_(topology.endpoints),
        endpoints_forward_(endpoints_forward),
        costs_(std::move(costs)),
        out_(topology, false),
        in_(topology, true) {
    ends_.reserve(topology.links.size());
    for (const DirectedLink& link : topology.links) ends_.push_back({link.from, link.to});
    if (costs_.empty()) costs_.assign(ends_.size(), 1);
    const std::size_t tree_bytes = topology.vertices.size() * 2 * sizeof(std::uint32_t);
    most_trees_ = std::max<std::size_t>(2, kCacheBytes / std::max<std::size_t>(1, tree_bytes));
  }

  std::uint32_t count(VertexId a, VertexId b) const override { return tree(b)->ways[a]; }

  void path(VertexId a, VertexId b, std::uint32_t k, std::vector<LinkId>& out) const override {
    const std::shared_ptr<const Tree> towards = tree(b);
    CHECK(k < towards->ways[a]);
    for (VertexId at = a; at != b;) {
      const LinkId link = step(*towards, at, b, k);
      out.push_back(link);
      at = ends_[link].to;
    }
  }

 private:
  struct Ends {
    VertexId from, to;
  };
  static constexpr std::size_t kCacheBytes = std::size_t{64} << 20;

  // Whether a path to `b` may use `v` on its way.
  bool passes(VertexId v, VertexId b) const {
    return v == b || v >= endpoints_ || endpoints_forward_;
  }

  // The link that way `k` from `at` begins with; `k` becomes the number of the way beyond it.
  LinkId step(const Tree& towards, VertexId at, VertexId b, std::uint32_t& k) const {
    for (std::uint32_t i = out_.first[at]; i < out_.first[at + 1]; ++i) {
      const LinkId link = out_.links[i];
      const VertexId next = ends_[link].to;
      if (!passes(next, b) || towards.cost[next] == kFar) continue;
      if (towards.cost[next] + costs_[link] != towards.cost[at]) continue;
      if (k < towards.ways[next]) return link;
      k -= towards.ways[next];
    }
    CHECK_MSG(false, "the ways of a vertex are those of its neighbours");
    return kNoLink;
  }

  std::shared_ptr<const Tree> tree(VertexId b) const {
    {
      const std::lock_guard lock(mutex_);
      const auto found = trees_.find(b);
      if (found != trees_.end()) {
        recent_.splice(recent_.begin(), recent_, found->second.place);
        return found->second.tree;
      }
    }
    std::shared_ptr<const Tree> made = grow(b);
    const std::lock_guard lock(mutex_);
    const auto [at, fresh] = trees_.try_emplace(b);
    if (!fresh) return at->second.tree;
    recent_.push_front(b);
    at->second = {made, recent_.begin()};
    if (trees_.size() > most_trees_) {
      trees_.erase(recent_.back());
      recent_.pop_back();
    }
    return made;
  }

  // Dijkstra with a bucket for each cost, backwards from `b`. A vertex is settled after everybody
  // nearer, so its ways are complete when it hands them on.
  std::shared_ptr<const Tree> grow(VertexId b) const {
    auto tree = std::make_shared<Tree>();
    tree->cost.assign(out_.first.size() - 1, kFar);
    tree->ways.assign(tree->cost.size(), 0);
    tree->cost[b] = 0;
    tree->ways[b] = 1;
    std::vector<std::vector<VertexId>> buckets(1, {b});
    for (std::size_t cost = 0; cost < buckets.size(); ++cost) {
      for (std::size_t i = 0; i < buckets[cost].size(); ++i) {
        const VertexId v = buckets[cost][i];
        if (tree->cost[v] == cost) hand_on(v, b, *tree, buckets);
      }
      std::vector<VertexId>().swap(buckets[cost]);
    }
    return tree;
  }

  void hand_on(VertexId v, VertexId b, Tree& tree,
               std::vector<std::vector<VertexId>>& buckets) const {
    if (!passes(v, b)) return;
    for (std::uint32_t i = in_.first[v]; i < in_.first[v + 1]; ++i) {
      const LinkId link = in_.links[i];
      const VertexId u = ends_[link].from;
      const std::uint32_t cost = tree.cost[v] + costs_[link];
      if (cost > tree.cost[u]) continue;
      if (cost < tree.cost[u]) {
        tree.cost[u] = cost;
        tree.ways[u] = 0;
        if (buckets.size() <= cost) buckets.resize(cost + 1);
        buckets[cost].push_back(u);
      }
      tree.ways[u] = tree.ways[u] > kMany - tree.ways[v] ? kMany : tree.ways[u] + tree.ways[v];
    }
  }

  VertexId endpoints_;
  bool endpoints_forward_;
  std::vector<std::uint8_t> costs_;
  Adjacency out_, in_;
  std::vector<Ends> ends_;
  std::size_t most_trees_ = 2;

  struct Kept {
    std::shared_ptr<const Tree> tree;  // shared: a reader may hold a tree that is being dropped
    std::list<VertexId>::iterator place;
  };
  mutable std::mutex mutex_;
  mutable std::unordered_map<VertexId, Kept> trees_;
  mutable std::list<VertexId> recent_;
};

}  // namespace

std::shared_ptr<const Paths> make_graph_paths(const Topology& topology,
                                              std::vector<std::uint8_t> costs,
                                              bool endpoints_forward) {
  return std::make_shared<GraphPaths>(topology, std::move(costs), endpoints_forward);
}

std::vector<bool> reached_from(const Topology& topology, VertexId start, bool backward) {
  const Adjacency adjacency(topology, backward);
  std::vector<bool> seen(topology.vertices.size(), false);
  std::vector<VertexId> open{start};
  seen[start] = true;
  while (!open.empty()) {
    const VertexId v = open.back();
    open.pop_back();
    for (std::uint32_t i = adjacency.first[v]; i < adjacency.first[v + 1]; ++i) {
      const DirectedLink& link = topology.links[adjacency.links[i]];
      const VertexId next = backward ? link.from : link.to;
      if (!seen[next]) open.push_back(next);
      seen[next] = true;
    }
  }
  return seen;
}

}  // namespace weft
