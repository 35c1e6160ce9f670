// Where the endpoints of a schedule stand.
#include <fmt/core.h>

#include <algorithm>

#include "timing/choose_collective.h"
#include "timing/switch_above.h"

namespace weft {
namespace {

using collective::HelperKind;
using collective::Schedule;

// The endpoints that a helper exchanges messages with, in the order of its program.
std::vector<int> peers_of(const Schedule& schedule, int endpoint) {
  std::vector<int> peers;
  for (const auto& stream : schedule.programs[static_cast<std::size_t>(endpoint)].streams) {
    for (const collective::Round& round : stream) {
      for (const collective::Op& op : round.ops) {
        const bool talks =
            op.kind != collective::Kind::kCopy && op.kind != collective::Kind::kReduce;
        if (talks) peers.push_back(op.peer.at(0));
      }
    }
  }
  return peers;
}

Error no_switch(const Topology& topology, VertexId below) {
  return Error{ErrorKind::kInvalidInput,
               fmt::format("{} has no switch above {}", topology.text, topology.names.of(below)),
               "in-network sums need a topology with switches, such as switch or clos"};
}

// Places the switch above a peer that is placed; a rank before any other. False: none is yet.
Result<bool> place_switch(const Schedule& schedule, const Topology& topology, int endpoint,
                          Placement& placement) {
  int below = -1;
  for (const int peer : peers_of(schedule, endpoint)) {
    if (placement.vertex[static_cast<std::size_t>(peer)] == kNoVertex) continue;
    if (below < 0 || (peer < schedule.ranks && below >= schedule.ranks)) below = peer;
  }
  if (below < 0) return false;
  const VertexId stands = placement.vertex[static_cast<std::size_t>(below)];
  const VertexId above = switch_above(topology, stands);
  if (above == kNoVertex) return no_switch(topology, stands);
  placement.vertex[static_cast<std::size_t>(endpoint)] = above;
  return true;
}

}  // namespace

Result<Placement> place_schedule(const Schedule& schedule, const Topology& topology) {
  const int servers = static_cast<int>(
      std::count(schedule.helpers.begin(), schedule.helpers.end(), HelperKind::kServer));
  if (schedule.ranks + servers > static_cast<int>(topology.endpoints)) {
    return Error{
        ErrorKind::kInvalidInput,
        fmt::format("{} has {} endpoints; {} {} are asked for", topology.text, topology.endpoints,
                    schedule.ranks + servers, servers > 0 ? "ranks and servers" : "ranks"),
        "give the topology more hosts, or ask for fewer ranks"};
  }
  Placement placement;
  placement.vertex.assign(static_cast<std::size_t>(schedule.endpoints()), kNoVertex);
  VertexId next = 0;
  for (int e = 0; e < schedule.endpoints(); ++e) {
    const int helper = e - schedule.ranks;
    const bool at_endpoint =
        helper < 0 || schedule.helpers[static_cast<std::size_t>(helper)] == HelperKind::kServer;
    if (at_endpoint) placement.vertex[static_cast<std::size_t>(e)] = next++;
  }
  for (bool more = true; more;) {
    more = false;
    for (int e = schedule.ranks; e < schedule.endpoints(); ++e) {
      if (placement.vertex[static_cast<std::size_t>(e)] != kNoVertex) continue;
      auto placed = place_switch(schedule, topology, e, placement);
      if (!placed.ok()) return placed.error();
      more = more || *placed;
    }
  }
  for (VertexId& vertex : placement.vertex) {
    if (vertex == kNoVertex) vertex = 0;  // a helper that talks to nobody
  }
  return placement;
}

}  // namespace weft
