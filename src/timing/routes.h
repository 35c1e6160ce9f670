// Paths between vertices, looked up once per pair.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "fabric/topology.h"

namespace weft {

// Between endpoints the topology's own paths, by destination (D-mod-K); to and from switches the
// shortest path.
class Routes {
 public:
  explicit Routes(const Topology& topology) : topology_(topology) {}

  struct Route {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
    Seconds latency = 0;
    bool found = false;
  };
  const Route& between(VertexId from, VertexId to);
  std::span<const LinkId> links(const Route& route) const {
    return {pool_.data() + route.first, route.count};
  }

 private:
  bool walk(VertexId from, VertexId to, std::vector<LinkId>& out);

  const Topology& topology_;
  std::unordered_map<std::uint64_t, Route> known_;
  std::vector<LinkId> pool_;
  std::vector<std::vector<LinkId>> out_links_;  // by vertex; built when a switch is asked for
};

}  // namespace weft
