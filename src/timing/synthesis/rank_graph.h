// What messages between ranks use: the paths that the timing gives them, one link at a time.
#pragma once

#include <span>
#include <vector>

#include "fabric/topology.h"
#include "timing/routes.h"

namespace weft {

// A number per ordered pair of ranks.
class PerPair {
 public:
  explicit PerPair(int ranks) : ranks_(ranks), values_(static_cast<std::size_t>(ranks * ranks)) {}
  double& at(int from, int to) { return values_[static_cast<std::size_t>(from * ranks_ + to)]; }
  double at(int from, int to) const {
    return values_[static_cast<std::size_t>(from * ranks_ + to)];
  }
  int ranks() const { return ranks_; }

 private:
  int ranks_;
  std::vector<double> values_;
};

// Rank r stands on endpoint r. Requires: ranks <= topology.endpoints.
class RankGraph {
 public:
  RankGraph(const Topology& topology, int ranks);

  int ranks() const { return ranks_; }
  const Topology& topology() const { return *topology_; }
  std::span<const LinkId> path(int from, int to) const;
  Seconds latency(int from, int to) const;
  // The sum of `length` over each pair's path.
  PerPair distances(const std::vector<double>& length) const;

 private:
  const Routes::Route& route(int from, int to) const {
    return route_[static_cast<std::size_t>(from * ranks_ + to)];
  }
  const Topology* topology_;
  int ranks_;
  Routes routes_;
  std::vector<Routes::Route> route_;
};

}  // namespace weft
