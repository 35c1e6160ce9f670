#include "timing/switch_above.h"

#include <unordered_map>

namespace weft {
namespace {

bool is_switch(const Topology& topology, VertexId vertex) {
  return vertex >= topology.endpoints && topology.vertices[vertex].kind == VertexKind::kSwitch;
}

}  // namespace

VertexId switch_above(const Topology& topology, VertexId vertex) {
  for (int hops = 0; hops < 4; ++hops) {
    VertexId next = kNoVertex;
    for (const DirectedLink& link : topology.links) {
      if (link.from != vertex || link.to < topology.endpoints) continue;
      if (is_switch(topology, link.to)) return link.to;
      if (next == kNoVertex) next = link.to;
    }
    if (next == kNoVertex) return kNoVertex;
    vertex = next;
  }
  return kNoVertex;
}

std::vector<int> leaves_of(const Topology& topology, int ranks) {
  std::vector<VertexId> above(static_cast<std::size_t>(ranks), kNoVertex);
  for (const DirectedLink& link : topology.links) {
    if (link.from >= above.size() || above[link.from] != kNoVertex) continue;
    if (is_switch(topology, link.to)) above[link.from] = link.to;
  }
  std::unordered_map<VertexId, int> number;
  std::vector<int> leaves;
  for (VertexId r = 0; r < above.size(); ++r) {
    if (above[r] == kNoVertex) above[r] = switch_above(topology, r);
    if (above[r] == kNoVertex) return {};
    leaves.push_back(number.try_emplace(above[r], static_cast<int>(number.size())).first->second);
  }
  return leaves;
}

}  // namespace weft
