#include "fabric/edge_list.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "base/quantity.h"
#include "fabric/parameters.h"

namespace weft {
namespace {

const std::vector<std::string> kKinds = {"endpoint", "nic", "switch", "bridge"};
constexpr std::uint32_t kMaxVertices = 4'000'000;

struct VertexGroup {
  std::string name;
  VertexKind kind = VertexKind::kEndpoint;
  std::int64_t count = 0;  // 0: one vertex of that very name
};

struct Edge {
  std::string from, to, bandwidth, back, latency, price;
  std::string where;  // file and line
};

// Turns names into wiring and gathers complaints. YAML and CSV differ only in how they are read.
class EdgeListMaker {
 public:
  EdgeListMaker(std::string path, Complaints& complaints)
      : path_(std::move(path)), complaints_(complaints) {}

  void add_group(const VertexGroup& group, const std::string& where) {
    if (group.name.empty() || group.name.find_first_of("/*,:") != std::string::npos) {
      return complaints_.add(fmt::format(
          "{}: vertex name {} must not be empty or hold any of / * , :", where, shown(group.name)));
    }
    total_ += std::max<std::int64_t>(1, group.count);
    if (total_ > kMaxVertices) {
      if (!too_many_)
        complaints_.add(fmt::format("{}: more than {} vertices", where, kMaxVertices));
      too_many_ = true;
      return;
    }
    if (!seen_.try_emplace(group.name, groups_.size()).second) {
      return complaints_.add(
          fmt::format("{}: vertex {} is listed twice", where, shown(group.name)));
    }
    groups_.push_back(group);
  }

  void add_edge(Edge edge) { edges_.push_back(std::move(edge)); }

  // Requires: every group and edge was added.
  Wiring make(std::optional<bool> endpoints_forward) {
    Wiring wiring;
    add_vertices(wiring);
    if (wiring.topology.endpoints < 2 && complaints_.empty()) {
      complaints_.add(fmt::format("{}: it has {} endpoints; it must have at least 2", path_,
                                  wiring.topology.endpoints));
    }
    if (wiring.topology.endpoints > kMaxEndpoints) {
      complaints_.add(fmt::format("{}: it has {} endpoints; the limit is {}", path_,
                                  wiring.topology.endpoints, kMaxEndpoints));
    }
    for (const Edge& edge : edges_) join(wiring, edge);
    const bool only_endpoints = wiring.topology.endpoints == wiring.topology.vertices.size();
    wiring.endpoints_forward = endpoints_forward.value_or(only_endpoints);
    wiring.topology.text = path_;
    wiring.topology.facts.words =
        fmt::format("a list of {} vertices and {} links; endpoints {} traffic on",
                    wiring.topology.vertices.size(), wiring.topology.links.size(),
                    wiring.endpoints_forward ? "pass" : "do not pass");
    return wiring;
  }

 private:
  struct Range {
    VertexId first = 0;
    std::uint32_t count = 0;
  };

  // Endpoints come first whatever the order of the file.
  void add_vertices(Wiring& wiring) {
    for (const bool endpoints : {true, false}) {
      for (const VertexGroup& group : groups_) {
        if ((group.kind == VertexKind::kEndpoint) != endpoints) continue;
        Topology& topology = wiring.topology;
        const auto first = static_cast<VertexId>(topology.vertices.size());
        const auto count = static_cast<std::uint32_t>(std::max<std::int64_t>(1, group.count));
        topology.vertices.resize(first + count, Vertex{group.kind, tier_of(group.kind)});
        if (endpoints) topology.endpoints += count;
        ranges_[group.name] = {first, count};
        if (group.count == 0) {
          single_[group.name] = first;
          topology.names.add(group.name);
        } else {
          topology.names.add_block(group.name, count);
        }
      }
    }
  }

  static std::uint8_t tier_of(VertexKind kind) {
    return kind == VertexKind::kEndpoint ? 0 : kind == VertexKind::kSwitch ? 2 : 1;
  }

  // "name", "name3" or "name*" for all of a group; empty with a complaint.
  Range vertices(const Wiring& wiring, const std::string& name, const std::string& where) {
    if (name.ends_with('*')) {
      const auto group = ranges_.find(name.substr(0, name.size() - 1));
      if (group != ranges_.end()) return group->second;
    }
    const auto single = single_.find(name);
    if (single != single_.end()) return {single->second, 1};
    const auto found = wiring.topology.names.find(name);
    if (found) return {*found, 1};
    complaints_.add(fmt::format("{}: there is no vertex {}{}", where, shown(name),
                                wiring.topology.names.near(name)));
    return {};
  }

  std::optional<LinkRate> rate_of(const Edge& edge, const std::string& bandwidth,
                                  std::string_view key) {
    LinkRate rate;
    const auto bytes_per_s = parse_bytes_per_s(bandwidth);
    const auto latency = parse_seconds(edge.latency.empty() ? "0" : edge.latency);
    const auto price = parse_number(edge.price.empty() ? "0" : edge.price);
    const auto refuse = [&](std::string_view what, const std::string& value,
                            std::string_view wanted) {
      complaints_.add(
          fmt::format("{}: {} is {}; it must be {}", edge.where, what, shown(value), wanted));
    };
    const bool good_rate = bytes_per_s && *bytes_per_s > 0 && *bytes_per_s <= 1e18;
    const bool good_latency = latency && *latency <= 3600;
    const bool good_price = price && *price >= 0 && *price <= 1e9;
    if (!good_rate) refuse(key, bandwidth, kBytesPerSecondWanted);
    if (!good_latency) refuse("latency", edge.latency, kSecondsWanted);
    if (!good_price) refuse("price_per_gb", edge.price, "a number from 0 to 1e9");
    if (!good_rate || !good_latency || !good_price) return std::nullopt;
    return LinkRate{*bytes_per_s, *latency, *price / 1e9};
  }

  void join(Wiring& wiring, const Edge& edge) {
    const Range from = vertices(wiring, edge.from, edge.where);
    const Range to = vertices(wiring, edge.to, edge.where);
    const auto there = rate_of(edge, edge.bandwidth, "bandwidth");
    const auto back = edge.back.empty() ? there : rate_of(edge, edge.back, "back");
    if (from.count == 0 || to.count == 0 || !there || !back) return;
    for (VertexId a = from.first; a < from.first + from.count; ++a) {
      for (VertexId b = to.first; b < to.first + to.count; ++b) {
        // All of a group to all of the same: each pair once.
        if (from.first == to.first && from.count > 1 && b <= a) continue;
        if (a == b) {
          return complaints_.add(
              fmt::format("{}: {} is joined to itself", edge.where, wiring.topology.names.of(a)));
        }
        if (wiring.topology.links.size() + 2 > kMaxLinks) {
          return complaints_.add(fmt::format("{}: more than {} links", edge.where, kMaxLinks));
        }
        wiring.one_way(a, b, *there);
        wiring.one_way(b, a, *back);
      }
    }
  }

  std::string path_;
  Complaints& complaints_;
  std::vector<VertexGroup> groups_;
  std::vector<Edge> edges_;
  std::map<std::string, std::size_t> seen_;
  std::map<std::string, Range> ranges_;
  std::map<std::string, VertexId> single_;
  std::int64_t total_ = 0;
  bool too_many_ = false;
};

std::string place(const TextFile& file, const YAML::Node& node) {
  return fmt::format("{}:{}", file.path, node.Mark().line + 1);
}

Result<EdgeList> finished(EdgeList list, const Complaints& complaints) {
  if (!complaints.empty()) {
    return complaints.error("docs/formats.md describes topology files");
  }
  return list;
}

// The `fail`, `degrade` and `speed` lists of the file, read as in shorthand.
std::vector<LinkChange> read_changes(YamlFields& fields, const std::string& path,
                                     Complaints& complaints) {
  std::vector<Parameters::Entry> entries;
  for (const char* key : {"speed", "degrade", "fail"}) {
    for (const YAML::Node& value : fields.list(key)) {
      if (value.IsScalar()) {
        entries.push_back({key, value.Scalar()});
      } else {
        fields.complain(fmt::format("{} must be a list of texts such as leaf0/spine1", key));
      }
    }
  }
  Parameters parameters(path, std::move(entries));
  std::vector<LinkChange> changes = parameters.changes();
  if (!parameters.done()) complaints.add(parameters.error().what);
  return changes;
}

}  // namespace

Result<EdgeList> parse_edge_yaml(const TextFile& file, const YAML::Node& root) {
  Complaints complaints;
  YamlReport report(file.path, complaints);
  YamlFields fields(report, root, "the topology");
  fields.require("vertices");
  fields.require("links");
  EdgeListMaker maker(file.path, complaints);
  for (const YAML::Node& node : fields.list("vertices")) {
    YamlFields vertex(report, node, "vertices");
    if (!vertex.is_map()) continue;
    vertex.require("name");
    VertexGroup group;
    group.name = vertex.text("name");
    group.kind = static_cast<VertexKind>(vertex.choice("kind", kKinds, 0));
    if (vertex.has("count")) group.count = vertex.integer("count", 1, 1, kMaxVertices);
    vertex.done();
    if (vertex.has("name")) maker.add_group(group, place(file, node));
  }
  for (const YAML::Node& node : fields.list("links")) {
    YamlFields link(report, node, "links");
    if (!link.is_map()) continue;
    for (const char* key : {"from", "to", "bandwidth"}) link.require(key);
    Edge edge{link.text("from"), link.text("to"),      link.text("bandwidth"),
              link.text("back"), link.text("latency"), link.text("price_per_gb"),
              place(file, node)};
    link.done();
    if (link.has("from") && link.has("to") && link.has("bandwidth")) maker.add_edge(edge);
  }
  std::optional<bool> forward;
  if (fields.has("endpoints_forward")) forward = fields.flag("endpoints_forward", false);
  const double overhead_limit = 3600;
  const std::string overhead = fields.text("overhead", "0");
  const auto overhead_s = parse_seconds(overhead);
  if (!overhead_s || *overhead_s > overhead_limit) fields.refuse("overhead", kSecondsWanted);
  EdgeList list;
  list.changes = read_changes(fields, file.path, complaints);
  fields.done();
  list.wiring = maker.make(forward);
  list.wiring.topology.message_overhead = overhead_s.value_or(0);
  return finished(std::move(list), complaints);
}

Result<EdgeList> parse_edge_csv(const TextFile& file) {
  Complaints complaints;
  TableReader table(file, {',', true, '#'}, complaints);
  table.refuse_unknown(
      {"from", "to", "bandwidth", "back", "latency", "price_per_gb", "kind", "count"});
  EdgeListMaker maker(file.path, complaints);
  const bool good = table.require({"from", "to", "bandwidth", "kind"});
  const auto text = [&](const char* name) { return std::string(table.text(table.column(name))); };
  while (good && table.next()) {
    const std::string where = fmt::format("{}:{}", file.path, table.line());
    if (!text("to").empty()) {
      maker.add_edge({text("from"), text("to"), text("bandwidth"), text("back"), text("latency"),
                      text("price_per_gb"), where});
      continue;
    }
    VertexGroup group;
    group.name = text("from");
    const auto kind = std::find(kKinds.begin(), kKinds.end(), text("kind"));
    if (kind == kKinds.end()) {
      table.refuse(table.column("kind"), "endpoint, nic, switch or bridge in a row without 'to'");
      continue;
    }
    group.kind = static_cast<VertexKind>(kind - kKinds.begin());
    group.count = table.optional_integer(table.column("count"), 1, kMaxVertices).value_or(0);
    maker.add_group(group, where);
  }
  EdgeList list;
  list.wiring = maker.make(std::nullopt);
  return finished(std::move(list), complaints);
}

}  // namespace weft
