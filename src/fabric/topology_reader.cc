// From a SPEC to a topology: builders by name, YAML and CSV files.
#include <fmt/ranges.h>

#include <algorithm>

#include "base/delimited.h"
#include "base/files.h"
#include "base/quantity.h"
#include "fabric/builders/builders.h"
#include "fabric/edge_list.h"

namespace weft {
namespace {

struct Builder {
  const char* name;
  const char* summary;
  ReadBuilder read;
};

const std::vector<Builder>& builders() {
  static const std::vector<Builder> kBuilders = {
      {"switch", "one ideal switch", read_switch},
      {"clos", "Clos or fat-tree of 2 or 3 levels", read_clos},
      {"rail", "nodes whose NIC i share leaf switches, with spines", read_rail},
      {"rail-only", "the same without spines between rails", read_rail_only},
      {"a100", "nodes of 8 A100 with NVSwitch, alone or in a cluster", read_a100},
      {"h100", "nodes of 8 H100", read_h100},
      {"h200", "nodes of 8 H200", read_h200},
      {"b200", "nodes of 8 B200", read_b200},
      {"torus", "1 to 6 dimensions, such as torus:16x16x16", read_torus},
      {"hypercube", "2^d endpoints, such as hypercube:10", read_hypercube},
      {"hammingmesh", "boards of endpoints, a switch per row and column", read_hamming_mesh},
      {"dragonfly", "groups of routers, all joined", read_dragonfly},
      {"dragonfly+", "groups of leaves and spines", read_dragonfly_plus},
      {"bcube", "servers with several ports to levels of switches", read_bcube},
      {"dcell", "cells of servers joined recursively", read_dcell},
      {"topoopt", "optical rings of chosen strides", read_topoopt},
      {"wan", "sites joined by long links with a price", read_wan},
  };
  return kBuilders;
}

const Builder* builder_named(std::string_view name) {
  for (const Builder& builder : builders()) {
    if (name == builder.name) return &builder;
  }
  return nullptr;
}

std::vector<std::string> builder_names() {
  std::vector<std::string> names;
  for (const Builder& builder : builders()) names.emplace_back(builder.name);
  return names;
}

Error unknown(std::string_view name) {
  const std::string near = name.size() > 100 ? "" : near_miss(std::string(name), builder_names());
  return Error{ErrorKind::kInvalidInput,
               fmt::format("topology {} is neither a builder nor a file{}", shown(name),
                           near.empty() ? "" : fmt::format("; did you mean '{}'?", near)),
               fmt::format("the builders are {}", fmt::join(builder_names(), ", "))};
}

Result<Topology> build(const Builder& builder, Parameters& parameters, std::uint32_t hosts) {
  const Seconds overhead = parameters.seconds("overhead", 0);
  const std::vector<LinkChange> changes = parameters.changes();
  Wiring wiring = builder.read(parameters, hosts);
  if (!parameters.done()) return parameters.error();
  wiring.topology.text = parameters.text();
  wiring.topology.message_overhead += overhead;
  return seal(std::move(wiring), changes);
}

std::vector<Parameters::Entry> split(std::string_view text) {
  std::vector<Parameters::Entry> entries;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view part = trimmed(text.substr(0, comma));
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos) {
      entries.push_back({"", std::string(part)});
    } else {
      entries.push_back({std::string(trimmed(part.substr(0, equals))),
                         std::string(trimmed(part.substr(equals + 1)))});
    }
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return entries;
}

// A file that names a builder: its other keys are the parameters.
Result<Topology> parse_builder_yaml(const TextFile& file, const YAML::Node& root,
                                    std::uint32_t hosts) {
  Complaints complaints;
  YamlReport report(file.path, complaints);
  YamlFields fields(report, root, "the topology");
  std::vector<Parameters::Entry> entries;
  for (const std::string& key : fields.keys()) {
    if (key == "builder") continue;
    for (const YAML::Node& value : fields.list(key)) {
      if (value.IsScalar()) {
        entries.push_back({key, value.Scalar()});
      } else {
        report.complain(value, fmt::format("{} must be a value or a list of values", shown(key)));
      }
    }
  }
  const std::string name = fields.text("builder");
  const Builder* const builder = builder_named(name);
  if (!complaints.empty()) return complaints.error("docs/formats.md describes topology files");
  if (builder == nullptr) return unknown(name);
  Parameters parameters(file.path, std::move(entries));
  return build(*builder, parameters, hosts);
}

Result<Topology> parse_yaml(const TextFile& file, std::uint32_t hosts) {
  const Result<YAML::Node> root = load_yaml(file);
  if (!root.ok()) return root.error();
  try {
    if (root->IsMap() && (*root)["builder"]) return parse_builder_yaml(file, *root, hosts);
    Result<EdgeList> list = parse_edge_yaml(file, *root);
    if (!list.ok()) return list.error();
    return seal(std::move(list->wiring), list->changes);
  } catch (const std::exception& exception) {
    return yaml_error(file.path, exception);
  }
}

}  // namespace

std::vector<BuilderName> topology_builders() {
  std::vector<BuilderName> names;
  for (const Builder& builder : builders()) names.push_back({builder.name, builder.summary});
  return names;
}

Result<Topology> parse_topology_shorthand(const std::string& spec, std::uint32_t hosts) {
  const std::size_t colon = std::min(spec.find(':'), spec.size());
  const std::string_view name = trimmed(std::string_view(spec).substr(0, colon));
  const Builder* const builder = builder_named(name);
  if (builder == nullptr) return unknown(name);
  Parameters parameters(spec,
                        split(std::string_view(spec).substr(std::min(colon + 1, spec.size()))));
  return build(*builder, parameters, hosts);
}

Result<Topology> parse_topology_file(const std::string& path, std::string_view text,
                                     std::uint32_t hosts) {
  const TextFile file{path, text};
  if (const Status status = check_is_text(file); !status.ok()) return status.error();
  std::string_view start = text;
  while (start.starts_with('#'))
    start.remove_prefix(std::min(start.find('\n'), start.size() - 1) + 1);
  if (path.ends_with(".csv") || start.starts_with("from,")) {
    Result<EdgeList> list = parse_edge_csv(file);
    if (!list.ok()) return list.error();
    return seal(std::move(list->wiring), list->changes);
  }
  return parse_yaml(file, hosts);
}

Result<Topology> read_topology(const std::string& spec, std::uint32_t hosts) {
  const std::string_view name = trimmed(std::string_view(spec).substr(0, spec.find(':')));
  if (builder_named(name) != nullptr || !is_file(spec))
    return parse_topology_shorthand(spec, hosts);
  const Result<std::string> content = read_file(spec, kMaxYamlBytes);
  if (!content.ok()) return content.error();
  return parse_topology_file(spec, *content, hosts);
}

}  // namespace weft
