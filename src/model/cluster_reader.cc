#include <fmt/core.h>

#include "base/delimited.h"
#include "base/files.h"
#include "model/cluster.h"
#include "model/cluster_yaml.h"
#include "model/readers/alibaba_reader.h"
#include "model/readers/yaml_fields.h"

namespace weft {
namespace {

struct ShorthandGroup {
  std::string_view type;
  std::int64_t nodes = 0, devices = 0;
};

// "v100:2x4" or "2x4".
std::optional<ShorthandGroup> parse_group(std::string_view text) {
  ShorthandGroup group;
  group.type = "gpu";
  if (const std::size_t colon = text.find(':'); colon != std::string_view::npos) {
    group.type = trimmed(text.substr(0, colon));
    text = text.substr(colon + 1);
  }
  const std::size_t cross = text.find('x');
  if (group.type.empty() || cross == std::string_view::npos) return std::nullopt;
  const auto nodes = parse_integer(text.substr(0, cross));
  const auto devices = parse_integer(text.substr(cross + 1));
  if (!nodes || !devices) return std::nullopt;
  group.nodes = *nodes;
  group.devices = *devices;
  return group;
}

std::vector<std::string_view> items_of(std::string_view text) {
  std::vector<std::string_view> items;
  while (true) {
    const std::size_t comma = text.find(',');
    items.push_back(trimmed(text.substr(0, comma)));
    if (comma == std::string_view::npos) return items;
    text.remove_prefix(comma + 1);
  }
}

bool looks_like_shorthand(std::string_view text) {
  for (const std::string_view item : items_of(text)) {
    if (!parse_group(item)) return false;
  }
  return true;
}

TypeId type_of(Cluster& cluster, std::string_view name) {
  for (std::size_t i = 0; i < cluster.types.size(); ++i) {
    if (cluster.types[i].name == name) return static_cast<TypeId>(i);
  }
  cluster.types.emplace_back().name = name;
  return static_cast<TypeId>(cluster.types.size() - 1);
}

Error wrong(const std::string& what) {
  return Error{ErrorKind::kInvalidInput, "cluster " + what,
               "a cluster is NODESxDEVICES such as 16x8, TYPE:NODESxDEVICES,… such as "
               "v100:2x4,k80:6x4, or a file"};
}

Result<std::vector<ShorthandGroup>> parse_groups(std::string_view text) {
  constexpr std::size_t kMostGroups = 10'000;
  const std::vector<std::string_view> items = items_of(text);
  if (items.size() > kMostGroups) {
    return wrong(fmt::format("has {} groups; the limit is {}", items.size(), kMostGroups));
  }
  std::vector<ShorthandGroup> groups;
  std::uint64_t devices = 0;
  for (const std::string_view item : items) {
    const auto group = parse_group(item);
    if (!group) return wrong(fmt::format("group {} is not understood", shown(item)));
    if (group->nodes < 1 || group->nodes > static_cast<std::int64_t>(kMaxDevices)) {
      return wrong(fmt::format("group {} has {} nodes; it must have 1 to {}", shown(item),
                               group->nodes, kMaxDevices));
    }
    if (group->devices < 1 || group->devices > Cluster::kMaxDevicesPerNode) {
      return wrong(fmt::format("group {} has {} devices per node; it must have 1 to {}",
                               shown(item), group->devices, Cluster::kMaxDevicesPerNode));
    }
    devices += static_cast<std::uint64_t>(group->nodes * group->devices);
    if (devices > kMaxDevices) {
      return wrong(fmt::format("{} has {} devices or more; the limit is {}", shown(text), devices,
                               kMaxDevices));
    }
    groups.push_back(*group);
  }
  return groups;
}

}  // namespace

Result<Cluster> parse_cluster_shorthand(const std::string& text) {
  const Result<std::vector<ShorthandGroup>> groups = parse_groups(text);
  if (!groups.ok()) return groups.error();
  Cluster cluster;
  cluster.text = text;
  for (const ShorthandGroup& group : *groups) {
    Node like;
    like.type = type_of(cluster, group.type);
    like.devices = static_cast<std::uint16_t>(group.devices);
    std::size_t next = cluster.nodes.size();
    cluster.nodes.resize(next + static_cast<std::size_t>(group.nodes), like);
    for (; next < cluster.nodes.size(); ++next) {
      cluster.nodes[next].name = fmt::format("node-{}", next);
    }
  }
  cluster.finish();
  return cluster;
}

Result<Cluster> read_cluster(const std::string& text) {
  if (looks_like_shorthand(text)) return parse_cluster_shorthand(text);
  if (!is_file(text)) {
    return wrong(fmt::format("'{}' is neither a shorthand nor {}", text,
                             is_folder(text) ? "a file: it is a folder" : "a file that exists"));
  }
  const Result<std::string> content = read_file(text, kMaxYamlBytes);
  if (!content.ok()) return content.error();
  const TextFile file{text, *content};
  if (const Status status = check_is_text(file); !status.ok()) return status.error();
  if (file.text.starts_with("sn,")) return parse_alibaba_nodes(file);
  return parse_cluster_yaml(file);
}

}  // namespace weft
