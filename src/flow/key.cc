#include "flow/key.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"
#include "base/random.h"

namespace weft {
namespace {

struct Edge {
  std::uint32_t later;
  double loss;
};

// The contention graph, each edge from the unit with more priority to the other: it has no cycle.
struct Graph {
  std::vector<std::vector<Edge>> out;
  std::vector<std::uint32_t> ins;
  double total = 0;
};

Graph make_graph(std::span<const double> priority, std::span<const Contention> pairs) {
  Graph graph{std::vector<std::vector<Edge>>(priority.size()),
              std::vector<std::uint32_t>(priority.size()), 0};
  for (const Contention& pair : pairs) {
    CHECK(pair.a < priority.size() && pair.b < priority.size() && pair.a != pair.b);
    const bool a_first = priority[pair.a] != priority[pair.b] ? priority[pair.a] > priority[pair.b]
                                                              : pair.a < pair.b;
    const std::uint32_t first = a_first ? pair.a : pair.b;
    const std::uint32_t later = a_first ? pair.b : pair.a;
    graph.out[first].push_back({later, pair.loss});
    ++graph.ins[later];
    graph.total += pair.loss;
  }
  return graph;
}

// How many meetings come before each unit on the longest chain to it.
std::vector<std::uint32_t> depths(const Graph& graph) {
  std::vector<std::uint32_t> depth(graph.out.size()), ins = graph.ins, ready;
  for (std::uint32_t u = 0; u < ins.size(); ++u) {
    if (ins[u] == 0) ready.push_back(u);
  }
  while (!ready.empty()) {
    const std::uint32_t u = ready.back();
    ready.pop_back();
    for (const Edge& edge : graph.out[u]) {
      depth[edge.later] = std::max(depth[edge.later], depth[u] + 1);
      if (--ins[edge.later] == 0) ready.push_back(edge.later);
    }
  }
  return depth;
}

std::vector<std::uint32_t> random_order(const Graph& graph, Random& random) {
  std::vector<std::uint32_t> order, ins = graph.ins, ready;
  for (std::uint32_t u = 0; u < ins.size(); ++u) {
    if (ins[u] == 0) ready.push_back(u);
  }
  while (!ready.empty()) {
    std::swap(ready[random.below(ready.size())], ready.back());
    const std::uint32_t u = ready.back();
    ready.pop_back();
    order.push_back(u);
    for (const Edge& edge : graph.out[u]) {
      if (--ins[edge.later] == 0) ready.push_back(edge.later);
    }
  }
  return order;
}

// Cuts one order into runs, a level each, so that the least loss stays inside the runs.
Levels cut(const Graph& graph, const std::vector<std::uint32_t>& order, std::uint32_t levels) {
  const std::size_t n = order.size();
  std::vector<std::size_t> place(n);
  for (std::size_t i = 0; i < n; ++i) place[order[i]] = i;
  // inside[i * n + j]: the losses of pairs that lie within places i..j.
  std::vector<double> inside(n * n);
  for (std::uint32_t u = 0; u < n; ++u) {
    for (const Edge& edge : graph.out[u]) inside[place[u] * n + place[edge.later]] += edge.loss;
  }
  for (std::size_t length = 1; length < n; ++length) {
    for (std::size_t i = 0; i + length < n; ++i) {
      const std::size_t j = i + length;
      const double shared = length > 1 ? inside[(i + 1) * n + j - 1] : 0;
      inside[i * n + j] += inside[i * n + j - 1] + inside[(i + 1) * n + j] - shared;
    }
  }
  // least[k][j]: the least loss when places 0..j-1 make k + 1 runs or fewer.
  std::vector<std::vector<double>> least(levels, std::vector<double>(n + 1));
  std::vector<std::vector<std::size_t>> from(levels, std::vector<std::size_t>(n + 1));
  for (std::size_t j = 1; j <= n; ++j) least[0][j] = inside[j - 1];
  for (std::uint32_t k = 1; k < levels; ++k) {
    for (std::size_t j = 1; j <= n; ++j) {
      least[k][j] = least[k - 1][j];
      from[k][j] = j;  // an empty run
      for (std::size_t i = 1; i < j; ++i) {
        const double loss = least[k - 1][i] + inside[i * n + j - 1];
        if (loss < least[k][j]) least[k][j] = loss, from[k][j] = i;
      }
    }
  }
  Levels result{std::vector<std::uint32_t>(n), graph.total - least[levels - 1][n]};
  std::size_t end = n;
  for (std::uint32_t k = levels; k-- > 0;) {
    const std::size_t begin = k == 0 ? 0 : from[k][end];
    for (std::size_t i = begin; i < end; ++i) result.of[order[i]] = k;
    end = begin;
  }
  return result;
}

}  // namespace

std::vector<std::uint32_t> dense_ranks(std::span<const double> keys) {
  std::vector<double> sorted(keys.begin(), keys.end());
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  std::vector<std::uint32_t> ranks;
  ranks.reserve(keys.size());
  for (double key : keys) {
    const auto at = std::lower_bound(sorted.begin(), sorted.end(), key);
    ranks.push_back(static_cast<std::uint32_t>(at - sorted.begin()));
  }
  return ranks;
}

Levels compress_levels(std::span<const double> priority, std::span<const Contention> pairs,
                       std::uint32_t levels, int orders, std::uint64_t seed) {
  CHECK(levels >= 1);
  const Graph graph = make_graph(priority, pairs);
  std::vector<std::uint32_t> depth = depths(graph);
  if (std::all_of(depth.begin(), depth.end(), [&](std::uint32_t d) { return d < levels; })) {
    return {std::move(depth), graph.total};
  }
  Random random(seed);
  Levels best = cut(graph, random_order(graph, random), levels);
  for (int i = 1; i < orders; ++i) {
    Levels other = cut(graph, random_order(graph, random), levels);
    if (other.kept > best.kept) best = std::move(other);
  }
  for (std::uint32_t u = 0; u < depth.size(); ++u) {
    if (graph.ins[u] == 0 && graph.out[u].empty()) best.of[u] = 0;
  }
  return best;
}

}  // namespace weft
