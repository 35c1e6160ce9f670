#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <set>

#include "base/check.h"
#include "fabric/max_flow.h"

namespace weft {
namespace {

using Half = std::vector<bool>;

// Links that all halvings together may look at; keeps large networks to a few.
constexpr std::size_t kBudget = 1'000'000;
constexpr std::size_t kMostHalvings = 40;

Half by_blocks(std::uint32_t n, std::uint32_t block) {
  Half half(n);
  for (VertexId v = 0; v < n; ++v) half[v] = v / block % 2 == 0;
  return half;
}

// The n/2 endpoints nearest to `start`.
Half around(const Topology& topology, const std::vector<std::vector<VertexId>>& next,
            VertexId start) {
  Half half(topology.endpoints, false);
  std::vector<bool> seen(topology.vertices.size(), false);
  std::vector<VertexId> queue{start};
  seen[start] = true;
  std::uint32_t taken = 0;
  for (std::size_t i = 0; i < queue.size() && taken < topology.endpoints / 2; ++i) {
    const VertexId v = queue[i];
    if (v < topology.endpoints) {
      half[v] = true;
      ++taken;
    }
    for (const VertexId u : next[v]) {
      if (!seen[u]) queue.push_back(u);
      seen[u] = true;
    }
  }
  return half;
}

// Halves of a grid across the middle of each side.
void add_grid_halves(const Topology& topology, std::vector<Half>& halves) {
  std::uint32_t below = 1;
  for (const std::uint32_t side : topology.facts.grid) {
    Half half(topology.endpoints);
    for (VertexId v = 0; v < topology.endpoints; ++v) half[v] = v / below % side < side / 2;
    below *= side;
    if (side % 2 == 0) halves.push_back(std::move(half));
  }
}

std::vector<Half> narrow_halves(const Topology& topology) {
  const std::uint32_t n = topology.endpoints;
  std::vector<Half> halves;
  Half by_number(n, false);
  std::fill(by_number.begin(), by_number.begin() + n / 2, true);
  halves.push_back(std::move(by_number));
  add_grid_halves(topology, halves);
  std::vector<std::vector<VertexId>> next(topology.vertices.size());
  for (const DirectedLink& link : topology.links) next[link.from].push_back(link.to);
  for (std::uint32_t i = 0; i < 8; ++i) {
    halves.push_back(around(topology, next, static_cast<VertexId>(std::uint64_t{n} * i / 8)));
  }
  for (std::uint32_t block = n / 4; block > 0; block /= 2) {
    if (n % (2 * block) == 0) halves.push_back(by_blocks(n, block));
  }
  const std::size_t affordable = kBudget / std::max<std::size_t>(1, topology.links.size());
  halves.resize(std::min({halves.size(), kMostHalvings, std::max<std::size_t>(1, affordable)}));
  return halves;
}

// The narrower of both directions.
double joins(const Topology& topology, Half half) {
  const double there = max_flow(topology, half);
  half.flip();
  return std::min(there, max_flow(topology, half));
}

}  // namespace

Bisection exhaustive_bisection(const Topology& topology) {
  const std::uint32_t n = topology.endpoints;
  CHECK(n >= 2 && n <= 24);
  double least = std::numeric_limits<double>::infinity();
  int halvings = 0;
  for (std::uint32_t bits = 0; bits < (1U << n); ++bits) {
    if (static_cast<std::uint32_t>(__builtin_popcount(bits)) != n / 2) continue;
    if (n % 2 == 0 && (bits & 1U) == 0) continue;  // its complement is looked at
    Half half(n);
    for (VertexId v = 0; v < n; ++v) half[v] = (bits >> v & 1U) != 0;
    least = std::min(least, joins(topology, half));
    ++halvings;
  }
  return {least, true, fmt::format("max-flow over all {} halvings", halvings)};
}

Bisection bisection(const Topology& topology) {
  const TopologyFacts& facts = topology.facts;
  if (facts.bisection_bytes_per_s > 0) {
    return {facts.bisection_bytes_per_s, true, facts.bisection_rule};
  }
  if (topology.endpoints < 2) return {};
  if (topology.endpoints <= 12) return exhaustive_bisection(topology);
  double least = std::numeric_limits<double>::infinity();
  const std::vector<Half> halves = narrow_halves(topology);
  for (const Half& half : halves) least = std::min(least, joins(topology, half));
  return {least, false,
          fmt::format("upper bound: the least max-flow of {} halving{} tried", halves.size(),
                      halves.size() == 1 ? "" : "s")};
}

}  // namespace weft
