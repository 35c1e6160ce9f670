#include "fabric/topology_summary.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <map>

#include "base/quantity.h"
#include "base/random.h"

namespace weft {
namespace {

constexpr std::uint32_t kAllPairsUpTo = 256;
constexpr std::uint32_t kDestinations = 32, kSources = 512;  // of a sample; few destinations, for
                                                             // a search is made for each

struct Sums {
  double links = 0, paths = 0, latency = 0, price = 0;
};

void look_at(const Topology& topology, VertexId a, VertexId b, TopologySummary& summary,
             Sums& sums) {
  std::vector<LinkId> path;
  topology.paths->path(a, b, 0, path);
  const Seconds latency = topology.latency(path);
  double price = 0;
  for (const LinkId link : path) price += topology.links[link].price_per_byte * 1e9;
  ++summary.pairs;
  sums.links += static_cast<double>(path.size());
  sums.paths += topology.paths->count(a, b);
  sums.latency += latency;
  sums.price += price;
  summary.longest_links = std::max(summary.longest_links, static_cast<std::uint32_t>(path.size()));
  summary.longest_latency = std::max(summary.longest_latency, latency);
  summary.highest_price_per_gb = std::max(summary.highest_price_per_gb, price);
}

void measure_paths(const Topology& topology, TopologySummary& summary) {
  const std::uint32_t n = topology.endpoints;
  Sums sums;
  summary.all_pairs = n <= kAllPairsUpTo;
  if (summary.all_pairs) {
    for (VertexId b = 0; b < n; ++b) {
      for (VertexId a = 0; a < n; ++a) {
        if (a != b) look_at(topology, a, b, summary, sums);
      }
    }
  } else {
    Random random(1);
    for (std::uint32_t i = 0; i < kDestinations; ++i) {
      const auto b = static_cast<VertexId>(random.below(n));
      for (std::uint32_t j = 0; j < kSources; ++j) {
        const auto a = static_cast<VertexId>(random.below(n));
        if (a != b) look_at(topology, a, b, summary, sums);
      }
    }
  }
  const double pairs = std::max(1.0, static_cast<double>(summary.pairs));
  summary.mean_links = sums.links / pairs;
  summary.mean_paths = sums.paths / pairs;
  summary.mean_latency = sums.latency / pairs;
  summary.mean_price_per_gb = sums.price / pairs;
}

}  // namespace

TopologySummary summarize_topology(const Topology& topology) {
  TopologySummary summary;
  summary.endpoints = topology.endpoints;
  for (const Vertex& vertex : topology.vertices) {
    if (vertex.kind == VertexKind::kSwitch) ++summary.switches;
    if (vertex.kind == VertexKind::kNic) ++summary.nics;
    if (vertex.kind == VertexKind::kBridge) ++summary.bridges;
  }
  std::map<double, std::uint64_t, std::greater<>> speeds;
  for (const DirectedLink& link : topology.links) ++speeds[link.bytes_per_s];
  for (const auto& [speed, links] : speeds) summary.speeds.push_back({speed, links});
  measure_paths(topology, summary);
  summary.bisection = bisection(topology);
  return summary;
}

std::string model_in_words(const Topology& topology) {
  return fmt::format(
      "a message pays {} once, then the latency of every link on its path, then its bytes at the "
      "rate it is given; flows share each direction of a cable max-min fairly; switches have no "
      "limit of their own and links lose nothing",
      seconds_text(topology.message_overhead));
}

}  // namespace weft
