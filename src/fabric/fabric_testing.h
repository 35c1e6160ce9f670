// What tests of topologies share: walking paths, and an independent count of hops.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <queue>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "fabric/topology.h"

namespace weft {

inline Topology must_read(const std::string& spec) {
  Result<Topology> topology = read_topology(spec);
  EXPECT_TRUE(topology.ok()) << spec << ": " << (topology.ok() ? "" : topology.error().text());
  return topology.ok() ? std::move(*topology) : Topology{};
}

// Fewest links from `start` to every vertex; -1: none. Plain breadth-first search.
inline std::vector<int> hops_from(const Topology& topology, VertexId start, bool forward) {
  std::vector<std::vector<VertexId>> next(topology.vertices.size());
  for (const DirectedLink& link : topology.links) next[link.from].push_back(link.to);
  std::vector<int> hops(topology.vertices.size(), -1);
  std::queue<VertexId> open;
  open.push(start);
  hops[start] = 0;
  while (!open.empty()) {
    const VertexId v = open.front();
    open.pop();
    if (v != start && v < topology.endpoints && !forward) continue;
    for (const VertexId u : next[v]) {
      if (hops[u] < 0) {
        hops[u] = hops[v] + 1;
        open.push(u);
      }
    }
  }
  return hops;
}

// Checks that path k of (a, b) begins at a, ends at b and hangs together. Returns its links.
inline std::vector<LinkId> walk(const Topology& topology, VertexId a, VertexId b, std::uint32_t k) {
  std::vector<LinkId> path;
  topology.paths->path(a, b, k, path);
  VertexId at = a;
  for (const LinkId link : path) {
    if (link >= topology.links.size() || topology.links[link].from != at) {
      ADD_FAILURE() << topology.text << ": path " << k << " from " << a << " to " << b
                    << " breaks at vertex " << at;
      return path;
    }
    at = topology.links[link].to;
  }
  EXPECT_EQ(at, b) << topology.text << ": path " << k << " from " << a;
  EXPECT_EQ(std::set<LinkId>(path.begin(), path.end()).size(), path.size())
      << topology.text << ": a link twice on the path from " << a << " to " << b;
  return path;
}

}  // namespace weft
