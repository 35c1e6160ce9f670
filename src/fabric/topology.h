// A network as data: vertices, directed links, and a rule that lists the paths between endpoints.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
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

// Lists the paths between two endpoints. Which of them a flow takes is chosen by `flow` (hash,
// D-mod-K, least loaded, rail, spray). Thread-safety: const calls from any thread.
class Paths {
 public:
  virtual ~Paths() = default;
  // How many paths lead from endpoint `a` to endpoint `b`; 0: none does. Requires: a != b.
  virtual std::uint32_t count(VertexId a, VertexId b) const = 0;
  // The links of path `k` in order, appended to `out`. Requires: k < count(a, b).
  // Cost: O(length) for the regular topologies, whatever their size.
  virtual void path(VertexId a, VertexId b, std::uint32_t k, std::vector<LinkId>& out) const = 0;
};

// Names of vertices: blocks such as "leaf" for leaf0, leaf1, …, or a name of its own for each.
class VertexNames {
 public:
  // Names the next `count` vertices `prefix0`, `prefix1`, …
  void add_block(std::string prefix, std::uint32_t count);
  // Names the next vertex.
  void add(std::string name);

  std::uint32_t size() const { return next_; }
  // Requires: v < size().
  std::string of(VertexId v) const;
  // Cost: O(blocks).
  std::optional<VertexId> find(std::string_view name) const;
  // Names near to `name`, in quotes, for messages; empty when none is.
  std::string near(std::string_view name) const;

 private:
  struct Block {
    std::string prefix;
    VertexId first = 0;
    std::uint32_t count = 0;  // 0: one vertex, of exactly this name
  };
  std::vector<Block> blocks_;
  std::uint32_t next_ = 0;
};

// What builders know of a network and nobody could find in its graph.
struct TopologyFacts {
  std::string words;  // the network in one sentence

  // Endpoints per machine: consecutive ids share one. 1: every endpoint stands alone.
  std::uint32_t endpoints_per_node = 1;

  // How to draw it, if not tier by tier: a grid with these sides, or groups in a circle.
  std::vector<std::uint32_t> grid;
  std::vector<std::uint16_t> group_of;  // of each vertex; empty: no groups

  // Exact bisection bandwidth by formula; 0: none is known.
  double bisection_bytes_per_s = 0;
  std::string bisection_rule;

  // Bandwidth into a tier from below ÷ bandwidth out of it to above.
  struct Oversubscription {
    std::string tier;
    double ratio = 1;
  };
  std::vector<Oversubscription> oversubscription;
};

// Ensures: endpoints are vertices 0 .. endpoints - 1; bandwidths are above 0.
struct Topology {
  std::string text;  // how the user named it
  std::uint32_t endpoints = 0;
  std::vector<Vertex> vertices;
  std::vector<DirectedLink> links;
  VertexNames names;
  std::shared_ptr<const Paths> paths;  // shared: copies of a topology only differ in their links
  Seconds message_overhead = 0;        // added once to every message
  TopologyFacts facts;

  // Sum of the latencies along `path`, and the overhead of one message.
  Seconds latency(const std::vector<LinkId>& path) const {
    Seconds sum = message_overhead;
    for (LinkId link : path) sum += links[link].latency;
    return sum;
  }
};

inline constexpr std::uint32_t kMaxEndpoints = 1'000'000;
inline constexpr std::uint64_t kMaxLinks = 16'000'000;

// Reads a topology: shorthand such as "clos:hosts=1024,radix=32,bandwidth=100Gb/s" or a YAML or CSV
// file (docs/topologies.md, docs/formats.md). All mistakes are told together. `hosts` is how many
// endpoints a builder makes that is not told how many.
// Ensures: every endpoint has a path to every other.
Result<Topology> read_topology(const std::string& spec, std::uint32_t hosts = 64);
// The same from a text in memory: "NAME" or "NAME:PARAMETERS"; the content of a YAML or CSV file,
// which messages call `path`.
Result<Topology> parse_topology_shorthand(const std::string& spec, std::uint32_t hosts = 64);
Result<Topology> parse_topology_file(const std::string& path, std::string_view text,
                                     std::uint32_t hosts = 64);

// Every builder with a line about it, for help texts.
struct BuilderName {
  std::string name, summary;
};
std::vector<BuilderName> topology_builders();

}  // namespace weft
