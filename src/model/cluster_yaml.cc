#include "model/cluster_yaml.h"

#include <fmt/ranges.h>

#include <map>
#include <unordered_map>
#include <unordered_set>

#include "model/readers/domain_names.h"
#include "model/readers/yaml_fields.h"

namespace weft {
namespace {

constexpr Limits kPriceLimits{0, 1e6};
constexpr Limits kSecondsLimits{0, 1e10};
constexpr std::size_t kMaxYamlTypes = 1000;

class ClusterReader {
 public:
  explicit ClusterReader(const TextFile& file) : report_(file.path, complaints_) {
    cluster_.text = file.path;
  }

  Result<Cluster> read(const YAML::Node& root) {
    YamlFields fields(report_, root, "the cluster");
    fields.require("nodes");
    cluster_.text = fields.text("name", cluster_.text);
    read_types(fields);
    DomainNames domains(read_counts(fields));
    for (const YAML::Node& group : fields.list("nodes")) read_group(group, domains);
    cluster_.domain_names = domains.take_names();
    if (fields.has("nodes") && groups_ == 0) fields.complain("the cluster needs a group of nodes");
    check_node_names(root);
    for (const YAML::Node& link : fields.list("links")) read_link(link);
    fields.done();
    if (!complaints_.empty()) {
      return complaints_.error("the keys are described in docs/formats.md");
    }
    cluster_.finish();
    return std::move(cluster_);
  }

 private:
  void read_types(YamlFields& fields) {
    const YAML::Node* const types = fields.get("device_types");
    if (types == nullptr) return;
    types_are_listed_ = true;
    YamlFields by_name(report_, *types, "device_types");
    for (const std::string& name : by_name.keys()) {
      if (const YAML::Node* const type = by_name.get(name)) read_type(name, *type);
    }
  }

  void read_type(const std::string& name, const YAML::Node& node) {
    YamlFields fields(report_, node, "device_types." + name);
    DeviceType type;
    type.name = name;
    type.memory = gibibytes(fields.number("memory_gib", 0, kMemoryLimits));
    type.speed = fields.number("speed", 1, {0, 1e6, true});
    type.idle_watts = fields.number("idle_watts", 0, {0, 1e5});
    for (const YAML::Node& point : fields.list("power")) {
      YamlFields values(report_, point, "power");
      values.require("watts");
      const PowerPoint read{values.number("watts", 0, {0, 1e5, true}),
                            values.number("speed", 1, {0, 1, true})};
      if (!type.power.empty() &&
          (read.watts <= type.power.back().watts || read.speed < type.power.back().speed)) {
        values.complain("power: watts must ascend, and speed must not fall with them");
      }
      type.power.push_back(read);
      values.done();
    }
    if (!type.power.empty() && type.power.back().speed != 1) {
      fields.complain("power: the last point is the uncapped device; its speed must be 1");
    }
    fields.done();
    cluster_.types.push_back(std::move(type));
  }

  DomainCounts read_counts(YamlFields& fields) {
    DomainCounts counts;
    const YAML::Node* const node = fields.get("domains");
    if (node == nullptr) return counts;
    YamlFields values(report_, *node, "domains");
    constexpr std::int64_t kMost = kMaxDevices;
    counts.nodes_per_leaf =
        static_cast<std::uint64_t>(values.integer("nodes_per_leaf", 0, 1, kMost));
    counts.leaves_per_rack =
        static_cast<std::uint64_t>(values.integer("leaves_per_rack", 0, 1, kMost));
    counts.racks_per_pod = static_cast<std::uint64_t>(values.integer("racks_per_pod", 0, 1, kMost));
    if (counts.leaves_per_rack > 0 && counts.nodes_per_leaf == 0) values.require("nodes_per_leaf");
    if (counts.racks_per_pod > 0 && counts.leaves_per_rack == 0) values.require("leaves_per_rack");
    values.done();
    return counts;
  }

  void read_group(const YAML::Node& node, DomainNames& domains) {
    ++groups_;
    YamlFields fields(report_, node, "nodes");
    if (!fields.is_map()) return;
    fields.require("devices");
    Node like;
    const auto count = static_cast<std::uint64_t>(fields.integer("count", 1, 1, kMaxDevices));
    like.devices =
        static_cast<std::uint16_t>(fields.integer("devices", 1, 1, Cluster::kMaxDevicesPerNode));
    like.type = read_type_of(fields);
    like.node_class = static_cast<NodeClass>(fields.choice("class", {"on-demand", "spot"}, 0));
    like.price = read_price(fields);
    like.cpu_milli = static_cast<std::uint32_t>(1000 * fields.number("cpu", 0, {0, 1e6}));
    like.memory = gibibytes(fields.number("memory_gib", 0, kMemoryLimits));
    like.storage_bytes_per_s = 1e9 * fields.number("storage_gb_s", 0, kBandwidthLimits);
    like.network_bytes_per_s = kGigabit * fields.number("network_gbit_s", 0, kBandwidthLimits);
    const std::string name = fields.text("name");
    const DomainPath path{fields.text("leaf"), fields.text("rack"), fields.text("pod")};
    const bool counted = fields.has("count");
    fields.done();
    devices_ += count * like.devices;
    if (devices_ > kMaxDevices) {
      return fields.complain(fmt::format("the cluster has {} devices up to here; the limit is {}",
                                         devices_, kMaxDevices));
    }
    const std::size_t first = cluster_.nodes.size();
    cluster_.nodes.resize(first + count, like);
    long& number = numbers_[name.empty() ? "node" : name];
    for (std::size_t i = first; i < cluster_.nodes.size(); ++i) {
      cluster_.nodes[i].name = !counted && !name.empty()
                                   ? name
                                   : fmt::format("{}-{}", name.empty() ? "node" : name, number++);
    }
    const std::string wrong = domains.place(path, &cluster_.nodes[first], count);
    if (!wrong.empty()) fields.complain(wrong);
  }

  TypeId read_type_of(YamlFields& fields) {
    const std::string name = fields.text("type", "gpu");
    const TypeId known = find_type(name);
    if (known != kAnyType) return known;
    if (types_are_listed_ || cluster_.types.size() >= kMaxYamlTypes) {
      std::vector<std::string> names;
      for (const DeviceType& type : cluster_.types) names.push_back(type.name);
      fields.complain(fmt::format("nodes.type is {}; it must be one of device_types, {}",
                                  shown(name), fmt::join(names, ", ")));
      return 0;
    }
    cluster_.types.emplace_back().name = name;
    return static_cast<TypeId>(cluster_.types.size() - 1);
  }

  TypeId find_type(const std::string& name) const {
    for (std::size_t i = 0; i < cluster_.types.size(); ++i) {
      if (cluster_.types[i].name == name) return static_cast<TypeId>(i);
    }
    return kAnyType;
  }

  std::uint32_t read_price(YamlFields& fields) {
    std::vector<PriceStep> series;
    const YAML::Node* const node = fields.get("price");
    if (node == nullptr || node->IsScalar()) {
      series.push_back({0, fields.number("price", 0, kPriceLimits)});
    } else {
      for (const YAML::Node& element : fields.list("price")) {
        YamlFields step(report_, element, "price");
        step.require("at_s");
        step.require("price");
        const double at = step.number("at_s", 0, kSecondsLimits);
        if (series.empty() ? at != 0 : at <= series.back().at) {
          step.complain("price: the series must begin at 0 and ascend");
        }
        series.push_back({at, step.number("price", 0, kPriceLimits)});
        step.done();
      }
      if (series.empty()) fields.complain("nodes.price is an empty series");
    }
    std::vector<double> key;
    for (const PriceStep& step : series) key.insert(key.end(), {step.at, step.per_device_hour});
    const auto [it, added] = prices_.try_emplace(std::move(key), cluster_.prices.size());
    if (added) cluster_.prices.push_back(std::move(series));
    return static_cast<std::uint32_t>(it->second);
  }

  void check_node_names(const YAML::Node& root) {
    for (const Node& node : cluster_.nodes) {
      if (!names_.insert(node.name).second) {
        report_.complain(root, fmt::format("two nodes are named {}", shown(node.name)));
      }
    }
  }

  void read_link(const YAML::Node& node) {
    YamlFields fields(report_, node, "links");
    for (const char* const key : {"from", "to", "gbit_s"}) fields.require(key);
    Link link;
    link.from = fields.text("from");
    link.to = fields.text("to");
    link.bytes_per_s = kGigabit * fields.number("gbit_s", 0, {0, kBandwidthLimits.high, true});
    link.latency = 1e-6 * fields.number("latency_us", 0, {0, 1e9});
    for (const std::string& end : {link.from, link.to}) {
      if (!end.empty() && !is_place(end)) {
        fields.complain(
            fmt::format("links: {} is neither a node nor a leaf, rack or pod", shown(end)));
      }
    }
    fields.done();
    cluster_.links.push_back(std::move(link));
  }

  bool is_place(const std::string& name) {
    if (places_.empty()) {
      for (const auto& level : cluster_.domain_names) places_.insert(level.begin(), level.end());
    }
    return names_.contains(name) || places_.contains(name);
  }

  Complaints complaints_;
  YamlReport report_;
  Cluster cluster_;
  bool types_are_listed_ = false;
  long groups_ = 0;
  std::uint64_t devices_ = 0;
  std::unordered_map<std::string, long> numbers_;
  std::map<std::vector<double>, std::size_t> prices_;
  std::unordered_set<std::string_view> names_, places_;
};

}  // namespace

Result<Cluster> parse_cluster_yaml(const TextFile& file) {
  const Result<YAML::Node> root = load_yaml(file);
  if (!root.ok()) return root.error();
  try {
    return ClusterReader(file).read(*root);
  } catch (const std::exception& exception) {
    return yaml_error(file.path, exception);
  }
}

}  // namespace weft
