// A network as data: vertices, directed links, and a rule that lists the paths between endpoints.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/units.h"

namespace weft {

using VertexId = std::uint32_t;
using LinkId = std::uint32_t;
inline constexpr VertexId kNoVertex = UINT32_MAX;
inline constexpr LinkId kNoLink = UINT32_MAX;

enum class VertexKind : std::uint8_t { kEndpoint, kNic, kSwitch, kBridge };

struct Vertex {
  VertexKind kind = VertexKind::kSwitch;
  std::uint8_t tier = 0;  // distance from the endpoints, for pictures
};

// One direction of a cable. A cable is two of these.
struct DirectedLink {
  VertexId from = 0, to = 0;
  double bytes_per_s = 0;
  Seconds latency = 0;        // added to every message that crosses it
  double price_per_byte = 0;  // links between sites are paid for by what crosses them
};

struct Topology;

// Lists the paths between two endpoints. Which of them a flow takes is chosen by `flow` (hash,
// D-mod-K, least loaded, rail, spray).
class Paths {
 public:
  virtual ~Paths() = default;
  // How many paths lead from endpoint `a` to endpoint `b`; 0: none does. Requires: a != b.
  virtual std::uint32_t count(VertexId a, VertexId b) const = 0;
  // The links of path `k` in order, appended to `out`. Requires: k < count(a, b).
  // Cost: O(length) for the regular topologies, whatever their size.
  virtual void path(VertexId a, VertexId b, std::uint32_t k, std::vector<LinkId>& out) const = 0;
};

// Ensures: endpoints are vertices 0 .. endpoints - 1; bandwidths are above 0.
struct Topology {
  std::string text;  // how the user named it
  std::uint32_t endpoints = 0;
  std::vector<Vertex> vertices;
  std::vector<DirectedLink> links;
  std::vector<std::string> names;      // of the vertices; empty: numbered by kind
  std::shared_ptr<const Paths> paths;  // shared: copies of a topology only differ in their links
  Seconds message_overhead = 0;        // added once to every message

  // Sum of the latencies along `path`, and the overhead of one message.
  Seconds latency(const std::vector<LinkId>& path) const {
    Seconds sum = message_overhead;
    for (LinkId link : path) sum += links[link].latency;
    return sum;
  }
};

}  // namespace weft
