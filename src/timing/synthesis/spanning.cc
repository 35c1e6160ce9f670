#include "timing/synthesis/spanning.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace weft {
namespace {

constexpr double kFar = std::numeric_limits<double>::infinity();
constexpr double kSame = 1e-9;  // costs that differ by less are equal

bool cheaper(double a, double b) { return a < b - kSame * std::abs(b); }

std::vector<std::vector<int>> neighbours_of(const std::vector<int>& parents) {
  std::vector<std::vector<int>> near(parents.size());
  for (std::size_t v = 0; v < parents.size(); ++v) {
    if (parents[v] < 0) continue;
    near[v].push_back(parents[v]);
    near[static_cast<std::size_t>(parents[v])].push_back(static_cast<int>(v));
  }
  return near;
}

struct Rooted {
  std::vector<int> parents;
  int height = 0;
};

Rooted rooted_at(int root, const std::vector<std::vector<int>>& near) {
  Rooted out{std::vector<int>(near.size(), -1)};
  std::vector<int> depth(near.size(), -1), queue = {root};
  depth[static_cast<std::size_t>(root)] = 0;
  for (std::size_t i = 0; i < queue.size(); ++i) {
    const auto at = static_cast<std::size_t>(queue[i]);
    out.height = depth[at];
    for (const int next : near[at]) {
      if (depth[static_cast<std::size_t>(next)] >= 0) continue;
      depth[static_cast<std::size_t>(next)] = depth[at] + 1;
      out.parents[static_cast<std::size_t>(next)] = queue[i];
      queue.push_back(next);
    }
  }
  return out;
}

// For each vertex the cheapest edge into it; the root where it costs the same as any other.
std::vector<int> cheapest_in(const PerPair& cost, int root) {
  std::vector<int> in(static_cast<std::size_t>(cost.ranks()), -1);
  for (int v = 0; v < cost.ranks(); ++v) {
    if (v == root) continue;
    int best = root;
    for (int u = 0; u < cost.ranks(); ++u) {
      if (u != v && cheaper(cost.at(u, v), cost.at(best, v))) best = u;
    }
    in[static_cast<std::size_t>(v)] = best;
  }
  return in;
}

// The vertices of some circle in which parents lead; empty when there is none.
std::vector<int> circle_in(const std::vector<int>& parents) {
  std::vector<int> seen(parents.size(), -1);
  for (int start = 0; start < static_cast<int>(parents.size()); ++start) {
    int v = start;
    while (v >= 0 && seen[static_cast<std::size_t>(v)] < 0) {
      seen[static_cast<std::size_t>(v)] = start;
      v = parents[static_cast<std::size_t>(v)];
    }
    if (v < 0 || seen[static_cast<std::size_t>(v)] != start) continue;
    std::vector<int> circle = {v};
    for (int u = parents[static_cast<std::size_t>(v)]; u != v;
         u = parents[static_cast<std::size_t>(u)]) {
      circle.push_back(u);
    }
    return circle;
  }
  return {};
}

}  // namespace

std::vector<int> cheapest_tree(const PerPair& cost) {
  const int n = cost.ranks();
  std::vector<int> parents(static_cast<std::size_t>(n), 0), depth(static_cast<std::size_t>(n), 0);
  std::vector<bool> inside(static_cast<std::size_t>(n), false);
  inside[0] = true;
  parents[0] = -1;
  const auto reach = [&](int v) { return cost.at(parents[static_cast<std::size_t>(v)], v); };
  for (int added = 1; added < n; ++added) {
    int best = -1;
    for (int v = 0; v < n; ++v) {
      if (inside[static_cast<std::size_t>(v)]) continue;
      if (best < 0 || cheaper(reach(v), reach(best))) best = v;
    }
    const auto at = static_cast<std::size_t>(best);
    inside[at] = true;
    depth[at] = depth[static_cast<std::size_t>(parents[at])] + 1;
    for (int v = 0; v < n; ++v) {
      const auto other = static_cast<std::size_t>(v);
      if (inside[other]) continue;
      const bool same = !cheaper(reach(v), cost.at(best, v));
      const int now = depth[static_cast<std::size_t>(parents[other])];
      if (cheaper(cost.at(best, v), reach(v)) || (same && depth[at] < now)) parents[other] = best;
    }
  }
  const auto near = neighbours_of(parents);
  Rooted best = rooted_at(0, near);
  for (int root = 1; root < n; ++root) {
    Rooted other = rooted_at(root, near);
    if (other.height < best.height) best = std::move(other);
  }
  return best.parents;
}

// A circle of cheapest edges is taken for one vertex; into it leads the edge that costs least more
// than the edge of the circle which it replaces.
std::vector<int> cheapest_arborescence(const PerPair& cost, int root) {
  const int n = cost.ranks();
  std::vector<int> parents = cheapest_in(cost, root);
  const std::vector<int> circle = circle_in(parents);
  if (circle.empty()) return parents;
  std::vector<int> small_of(static_cast<std::size_t>(n), -1), kept;
  std::vector<bool> round(static_cast<std::size_t>(n), false);
  for (const int v : circle) round[static_cast<std::size_t>(v)] = true;
  for (int v = 0; v < n; ++v) {
    if (round[static_cast<std::size_t>(v)]) continue;
    small_of[static_cast<std::size_t>(v)] = static_cast<int>(kept.size());
    kept.push_back(v);
  }
  const int whole = static_cast<int>(kept.size());
  PerPair small(whole + 1);
  std::vector<int> entry(static_cast<std::size_t>(whole), 0), way_out = entry;
  for (int i = 0; i < whole; ++i) {
    const int u = kept[static_cast<std::size_t>(i)];
    for (int j = 0; j < whole; ++j) small.at(i, j) = cost.at(u, kept[static_cast<std::size_t>(j)]);
    small.at(i, whole) = small.at(whole, i) = kFar;
    for (const int v : circle) {
      const double more = cost.at(u, v) - cost.at(parents[static_cast<std::size_t>(v)], v);
      if (more < small.at(i, whole)) {
        small.at(i, whole) = more;
        entry[static_cast<std::size_t>(i)] = v;
      }
      if (cost.at(v, u) < small.at(whole, i)) {
        small.at(whole, i) = cost.at(v, u);
        way_out[static_cast<std::size_t>(i)] = v;
      }
    }
  }
  const std::vector<int> inner =
      cheapest_arborescence(small, small_of[static_cast<std::size_t>(root)]);
  for (int i = 0; i < whole; ++i) {
    const int up = inner[static_cast<std::size_t>(i)];
    const int v = kept[static_cast<std::size_t>(i)];
    if (up < 0) continue;
    parents[static_cast<std::size_t>(v)] =
        up == whole ? way_out[static_cast<std::size_t>(i)] : kept[static_cast<std::size_t>(up)];
  }
  const auto from = static_cast<std::size_t>(inner[static_cast<std::size_t>(whole)]);
  parents[static_cast<std::size_t>(entry[from])] = kept[from];
  return parents;
}

std::vector<std::pair<int, int>> joining_order(const PerPair& cost) {
  const std::vector<int> parents = cheapest_tree(cost);
  std::vector<std::pair<int, int>> edges;
  for (int v = 0; v < cost.ranks(); ++v) {
    const int parent = parents[static_cast<std::size_t>(v)];
    if (parent >= 0) edges.emplace_back(parent, v);
  }
  std::stable_sort(edges.begin(), edges.end(), [&](const auto& a, const auto& b) {
    return cost.at(a.first, a.second) < cost.at(b.first, b.second);
  });
  return edges;
}

}  // namespace weft
