#include "model/readers/yaml_menu.h"

#include <fmt/ranges.h>

#include "model/readers/trace_builder.h"

namespace weft {
namespace {

void read_demand(YamlFields& fields, const Cluster& cluster, Configuration& c) {
  if (const std::string type = fields.text("type"); !type.empty()) {
    c.type = find_type(cluster, type);
    if (c.type == kAnyType) {
      fields.refuse("type", fmt::format("one of the cluster's device types, {}",
                                        fmt::join(type_names(cluster), ", ")));
    }
  }
  c.devices = static_cast<std::uint32_t>(fields.integer("devices", 1, 1, kMaxJobDevices));
  c.milli = static_cast<std::uint32_t>(fields.integer("milli", kWhole, 1, kWhole));
  c.device_memory = gibibytes(fields.number("device_memory_gib", 0, kMemoryLimits));
  c.cpu_milli = static_cast<std::uint32_t>(fields.integer("cpu_milli", 0, 0, 1'000'000'000));
  c.host_memory = gibibytes(fields.number("host_memory_gib", 0, kMemoryLimits));
  c.storage_bytes_per_s = 1e9 * fields.number("storage_gb_s", 0, kBandwidthLimits);
  c.network_guarantee = kGigabit * fields.number("network_guarantee_gbit_s", 0, kBandwidthLimits);
  c.network_limit = kGigabit * fields.number("network_limit_gbit_s", 0, kBandwidthLimits);
  c.pack = static_cast<Level>(fields.choice("pack", {"node", "leaf", "rack", "pod", "cluster"},
                                            static_cast<int>(Level::kCluster)));
  c.pack_required = fields.flag("pack_required", true);
}

void read_speed(YamlFields& fields, Configuration& c) {
  c.rate = fields.number("rate", 1, kRateLimits);
  c.scattered_rate = fields.number("scattered_rate", 0, {0, kRateLimits.high});
  c.seconds_per_step = fields.number("seconds_per_step", 0, kTimeLimits);
  c.work_per_step = fields.number("work_per_step", 0, {0, kRateLimits.high});
  c.efficiency = fields.number("efficiency", 1, {0, 1, true});
  c.watts_cap = fields.number("watts_cap", 0, {0, 1e5});
}

Traffic read_traffic(YamlReport& report, const YAML::Node& node) {
  YamlFields fields(report, node, "traffic");
  Traffic traffic;
  traffic.pattern = static_cast<Traffic::Pattern>(fields.choice(
      "pattern", {"none", "all-reduce", "all-to-all", "pipeline", "parameter-server"}, 0));
  traffic.bytes_per_step = fields.integer("bytes_per_step", 0, 0, std::int64_t{1} << 50);
  traffic.phase = fields.number("phase", 0, {0, 1});
  fields.done();
  return traffic;
}

}  // namespace

Configuration read_yaml_configuration(YamlReport& report, const YAML::Node& node,
                                      const Cluster& cluster) {
  YamlFields fields(report, node, "configuration");
  Configuration configuration;
  read_demand(fields, cluster, configuration);
  read_speed(fields, configuration);
  if (const YAML::Node* const traffic = fields.get("traffic"); traffic != nullptr) {
    configuration.traffic = read_traffic(report, *traffic);
  }
  configuration.parallelism = fields.text("parallelism");
  configuration.codec = fields.text("codec");
  configuration.sync = fields.text("sync");
  configuration.collective = fields.text("collective");
  fields.done();
  return configuration;
}

}  // namespace weft
