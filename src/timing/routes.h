// Paths between vertices, looked up once per pair.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

#include "fabric/topology.h"
#include "flow/path_choice.h"

namespace weft {

// Between endpoints one or more of the topology's own paths, by a rule; to and from switches the
// shortest path. A pair keeps what was chosen for its first message.
class Routes {
 public:
  // `load`: bytes per second on a link, for the rule least-loaded. The topology must outlive it.
  explicit Routes(
      const Topology& topology, const PathRule& rule = {PathRule::Kind::kDModK},
      std::function<double(LinkId)> load = [](LinkId) { return 0.0; });

  struct Path {
    std::uint32_t first = 0, count = 0;  // in the pool
  };
  struct Route {
    std::vector<Path> paths;  // that share the bytes evenly; empty: there is none
    Seconds latency = 0;      // of the slowest
  };
  const Route& between(VertexId from, VertexId to);
  std::span<const LinkId> links(const Path& path) const {
    return {pool_.data() + path.first, path.count};
  }

 private:
  void choose(VertexId from, VertexId to, Route& route);
  void add(const std::vector<LinkId>& path, Route& route);
  bool walk(VertexId from, VertexId to, std::vector<LinkId>& out);

  const Topology& topology_;
  PathRule rule_;
  std::function<double(LinkId)> load_;
  std::unordered_map<std::uint64_t, Route> known_;
  std::vector<LinkId> pool_;
  std::vector<std::vector<LinkId>> out_links_;  // by vertex; built when a switch is asked for
};

}  // namespace weft
