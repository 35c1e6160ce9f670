#include "timing/synthesis/rank_graph.h"

namespace weft {

RankGraph::RankGraph(const Topology& topology, int ranks)
    : topology_(&topology), ranks_(ranks), routes_(topology) {
  route_.reserve(static_cast<std::size_t>(ranks * ranks));
  for (int a = 0; a < ranks; ++a) {
    for (int b = 0; b < ranks; ++b) {
      route_.push_back(routes_.between(static_cast<VertexId>(a), static_cast<VertexId>(b)));
    }
  }
}

std::span<const LinkId> RankGraph::path(int from, int to) const {
  return routes_.links(route(from, to).paths.front());
}

Seconds RankGraph::latency(int from, int to) const { return route(from, to).latency; }

PerPair RankGraph::distances(const std::vector<double>& length) const {
  PerPair table(ranks_);
  for (int a = 0; a < ranks_; ++a) {
    for (int b = 0; b < ranks_; ++b) {
      double sum = 0;
      for (const LinkId link : path(a, b)) sum += length[link];
      table.at(a, b) = sum;
    }
  }
  return table;
}

}  // namespace weft
