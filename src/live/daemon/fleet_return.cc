// Nodes whose agents are not here yet because the controller has just begun, or was held up itself.
#include <algorithm>

#include "base/stopwatch.h"
#include "live/daemon/fleet.h"

namespace weft::live {
namespace {

constexpr Seconds kHeldUp = 1;  // between two looks: it was not the agents who were silent

}  // namespace

// A controller that comes back takes nodes for what its journal says: agents need a moment to find
// it, and policies that saw no nodes in service would stop what runs there. A first one has never
// seen an agent.
void Fleet::await_nodes() {
  looked_ns_ = monotonic_ns();
  for (NodeId id = 0; id < links_.size(); ++id) {
    Link& link = links_[id];
    link.heard_ns = looked_ns_;
    if (!board_->node(id).in_service) continue;
    if (term_ == 1) {
      post_node(id, EventKind::kNodeNotice, "its agent is not here");
    } else {
      link.suspect = false;
      link.awaited = true;
    }
  }
}

// Its agent is here. What was in service all the time is no news to anybody.
void Fleet::node_is_here(NodeId node) {
  Link& link = links_[node];
  const NodeView view = board_->node(node);
  const bool out = link.suspect || !view.in_service;
  link.suspect = link.awaited = false;
  if (out && !view.drained) post_node(node, EventKind::kNodeUp, "its agent is here");
}

// Time in which this process did not run (stopped, or starved) is nobody's silence.
void Fleet::forgive_own_silence() {
  const std::int64_t now = monotonic_ns();
  const std::int64_t since = now - looked_ns_;
  looked_ns_ = now;
  if (1e-9 * static_cast<double>(since) < kHeldUp) return;
  for (Link& link : links_) link.heard_ns = std::min(now, link.heard_ns + since);
}

}  // namespace weft::live
