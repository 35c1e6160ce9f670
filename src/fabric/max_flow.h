// The most that can flow from one set of endpoints to another: what joins the halves of a network.
#pragma once

#include <vector>

#include "fabric/topology.h"

namespace weft {

// Bytes per second from the endpoints marked true to all the others, by Dinic's algorithm.
// Requires: side.size() == topology.endpoints. Cost: O(links) per augmenting round; the rounds are
// few in networks of small diameter.
double max_flow(const Topology& topology, const std::vector<bool>& side);

// From the endpoints of one list to those of another; the remaining endpoints pass traffic on.
// Requires: the lists have no endpoint in common.
double max_flow(const Topology& topology, const std::vector<VertexId>& from,
                const std::vector<VertexId>& to);

struct Bisection {
  double bytes_per_s = 0;  // in one direction
  bool exact = false;      // else an upper bound: the least found
  std::string method;
};

// The least that joins two halves of the endpoints: by the builder's formula; else by max-flow over
// every halving if there are 12 endpoints at most; else over halvings that look narrow (by number,
// by blocks, along the sides of a grid, around some endpoints).
Bisection bisection(const Topology& topology);
// Over every halving, whatever it costs. Requires: at least 2 endpoints.
Bisection exhaustive_bisection(const Topology& topology);

}  // namespace weft
