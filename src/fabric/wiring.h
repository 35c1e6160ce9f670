// What builders build with: vertices, cables and the routing rule, before a topology is sealed.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "fabric/topology.h"

namespace weft {

// One kind of cable.
struct LinkRate {
  double bytes_per_s = 0;
  Seconds latency = 0;
  double price_per_byte = 0;
};

class Wiring {
 public:
  // Adds `count` vertices called prefix0, prefix1, … and returns the first.
  // Requires: endpoints are added before everything else.
  VertexId add(const std::string& prefix, VertexKind kind, int tier, std::uint32_t count);
  // Joins two vertices in both directions; the way back is the next id. `cost` is what a crossing
  // counts when shortest paths are sought (paths/graph_paths.h); equal costs mean fewest links.
  LinkId cable(VertexId a, VertexId b, const LinkRate& rate, std::uint8_t cost = 1);
  LinkId one_way(VertexId from, VertexId to, const LinkRate& rate, std::uint8_t cost = 1);

  LinkId next_link() const { return static_cast<LinkId>(topology.links.size()); }

  Topology topology;                // its paths stay empty unless the builder knows their structure
  std::vector<std::uint8_t> costs;  // of the links
  bool endpoints_forward = false;   // whether paths may lead through other endpoints
};

// A change to the cables between two vertices, or (`b` empty) to all cables of one vertex.
struct LinkChange {
  enum class Kind { kFail, kDegrade, kSpeed };
  Kind kind = Kind::kFail;
  std::string a, b;
  double value = 0;  // factor, or bytes per second
  std::string text;  // how the user wrote it
};

// Applies the changes, gives every topology its paths (structural ones are lost when a link fails)
// and checks that every endpoint reaches every other.
Result<Topology> seal(Wiring wiring, const std::vector<LinkChange>& changes);

}  // namespace weft
