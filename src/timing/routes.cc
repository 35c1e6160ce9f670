#include "timing/routes.h"

#include <algorithm>

namespace weft {

Routes::Routes(const Topology& topology, const PathRule& rule, std::function<double(LinkId)> load)
    : topology_(topology), rule_(rule), load_(std::move(load)) {}

const Routes::Route& Routes::between(VertexId from, VertexId to) {
  const std::uint64_t key = std::uint64_t{from} << 32 | to;
  const auto [at, fresh] = known_.try_emplace(key);
  Route& route = at->second;
  if (!fresh) return route;
  std::vector<LinkId> path;
  if (from == to) {
    add(path, route);
  } else if (from < topology_.endpoints && to < topology_.endpoints) {
    choose(from, to, route);
  } else if (walk(from, to, path)) {
    add(path, route);
  }
  return route;
}

void Routes::choose(VertexId from, VertexId to, Route& route) {
  const std::uint32_t count = topology_.paths->count(from, to);
  if (count == 0) return;
  std::vector<LinkId> path;
  const auto busiest = [&](std::uint32_t k) {
    std::vector<LinkId> links;
    topology_.paths->path(from, to, k, links);
    double most = 0;
    for (LinkId link : links)
      most = std::max(most, load_(link) / topology_.links[link].bytes_per_s);
    return most;
  };
  for (std::uint32_t k : choose_paths(rule_, {from, to, 0}, count, busiest)) {
    path.clear();
    topology_.paths->path(from, to, k, path);
    add(path, route);
  }
}

void Routes::add(const std::vector<LinkId>& path, Route& route) {
  route.paths.push_back(
      {static_cast<std::uint32_t>(pool_.size()), static_cast<std::uint32_t>(path.size())});
  route.latency = std::max(route.latency, topology_.latency(path));
  pool_.insert(pool_.end(), path.begin(), path.end());
}

// Breadth first. Cost: O(links).
bool Routes::walk(VertexId from, VertexId to, std::vector<LinkId>& out) {
  if (out_links_.empty()) {
    out_links_.resize(topology_.vertices.size());
    for (LinkId link = 0; link < topology_.links.size(); ++link) {
      out_links_[topology_.links[link].from].push_back(link);
    }
  }
  std::vector<LinkId> came_by(topology_.vertices.size(), kNoLink);
  std::vector<VertexId> queue = {from};
  for (std::size_t i = 0; i < queue.size() && came_by[to] == kNoLink; ++i) {
    for (LinkId link : out_links_[queue[i]]) {
      const VertexId next = topology_.links[link].to;
      if (next == from || came_by[next] != kNoLink) continue;
      came_by[next] = link;
      queue.push_back(next);
    }
  }
  if (came_by[to] == kNoLink) return false;
  for (VertexId at = to; at != from; at = topology_.links[came_by[at]].from) {
    out.push_back(came_by[at]);
  }
  std::reverse(out.begin(), out.end());
  return true;
}

}  // namespace weft
