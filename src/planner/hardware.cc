#include "planner/hardware.h"

#include <fmt/core.h>

#include "base/files.h"
#include "model/readers/yaml_fields.h"
#include "planner/transformer.h"

namespace weft::planner {
namespace {

constexpr double kTB = 1e12;
constexpr double kHostMemory = 128 * kGB;

// Peak, bandwidth and memory: vendors' data sheets. Tile efficiencies, kernel time and the links of
// A100 and H100: measured matrix products and all-reduces (docs/planner.md). The other types take
// the constants of the nearest of the two, scaled by their data sheet.
std::vector<Device> make_devices() {
  Device a100;
  a100.name = "a100-80";
  a100.peak_flops = 312 * kTera;
  a100.processors = 108;
  a100.memory_bytes = 80 * kGB;
  a100.memory_bytes_per_s = 2.039 * kTB;
  a100.host_bytes_per_s = 25 * kGB;
  a100.link_bytes_per_s = 225 * kGB;
  Device small = a100;
  small.name = "a100-40";
  small.memory_bytes = 40 * kGB;
  small.memory_bytes_per_s = 1.555 * kTB;

  Device h100 = a100;
  h100.name = "h100";
  h100.peak_flops = 989 * kTera;
  h100.processors = 132;
  h100.memory_bytes_per_s = 3.35 * kTB;
  h100.host_bytes_per_s = 50 * kGB;
  h100.host_sharers = 1;  // a PCIe switch for each device, not for each two (docs/topologies.md)
  h100.tile_efficiency = {0.82, 0.66, 0.54};
  h100.kernel_s = 5.3e-6;
  h100.link_bytes_per_s = 457 * kGB;
  h100.link_floor_s = 4e-6;
  Device h800 = h100;
  h800.name = "h800";
  h800.link_bytes_per_s = 203 * kGB;
  Device h200 = h100;
  h200.name = "h200";
  h200.memory_bytes = 141 * kGB;
  h200.memory_bytes_per_s = 4.8 * kTB;
  Device b200 = h100;
  b200.name = "b200";
  b200.peak_flops = 2250 * kTera;
  b200.processors = 148;
  b200.memory_bytes = 180 * kGB;
  b200.memory_bytes_per_s = 8.0 * kTB;
  b200.link_bytes_per_s = 914 * kGB;
  Device mi300 = a100;
  mi300.name = "mi300x";
  mi300.peak_flops = 1307 * kTera;
  mi300.processors = 304;
  mi300.memory_bytes = 192 * kGB;
  mi300.memory_bytes_per_s = 5.3 * kTB;
  mi300.host_bytes_per_s = 50 * kGB;
  mi300.host_sharers = 1;
  mi300.tile_efficiency = {0.60, 0.55, 0.45};
  mi300.link_bytes_per_s = 336 * kGB;
  return {a100, small, h100, h800, h200, b200, mi300};
}

template <typename T>
Result<T> find_named(const std::vector<T>& all, const std::string& name, const char* kind) {
  std::vector<std::string> known;
  std::string list;
  for (const T& one : all) {
    if (plain_name(one.name) == plain_name(name)) return one;
    known.push_back(one.name);
    list += (list.empty() ? "" : ", ") + one.name;
  }
  return Error{ErrorKind::kNotFound,
               fmt::format("no {} is named {}{}", kind, shown(name), did_you_mean(name, known)),
               fmt::format("known: {}", list)};
}

}  // namespace

const std::vector<Device>& devices() {
  static const std::vector<Device> all = make_devices();
  return all;
}

const std::vector<Network>& networks() {
  static const std::vector<Network> all = {
      {"8xhdr", 8, 25 * kGB},   // one 200 Gbit/s card per device, rails
      {"4xhdr", 4, 25 * kGB},   // one per two devices
      {"8xndr", 8, 50 * kGB},   // 400 Gbit/s
      {"8xxdr", 8, 100 * kGB},  // 800 Gbit/s
      {"1x100g", 1, 12.5 * kGB},
  };
  return all;
}

const Network& usual_network(const Device& device) {
  if (device.name == "b200") return networks()[3];
  return device.name.starts_with("a100") ? networks()[0] : networks()[2];
}

Result<Device> find_device(const std::string& name) {
  const std::string plain = plain_name(name);
  if (plain == "a100" || plain == "a10080g" || plain == "a10080gb") return devices()[0];
  if (plain == "a10040g" || plain == "a10040gb") return devices()[1];
  return find_named(devices(), name, "device");
}

Result<Network> find_network(const std::string& name) {
  return find_named(networks(), name, "network");
}

namespace {

constexpr Limits kPositive{0, 1e18, true}, kShare{0, 1, true}, kSeconds{0, 1};

void read_device(YamlFields& fields, Device& d) {
  d.peak_flops = kTera * fields.number("peak_tflops", d.peak_flops / kTera, kPositive);
  d.processors = static_cast<int>(fields.integer("processors", d.processors, 1, 100'000));
  d.memory_bytes = kGB * fields.number("memory_gb", d.memory_bytes / kGB, kPositive);
  d.memory_bytes_per_s =
      kGB * fields.number("memory_gb_per_s", d.memory_bytes_per_s / kGB, kPositive);
  d.host_bytes_per_s = kGB * fields.number("host_gb_per_s", d.host_bytes_per_s / kGB, kPositive);
  d.host_sharers = static_cast<int>(fields.integer("host_sharers", d.host_sharers, 1, 1000));
  d.memory_efficiency = fields.number("memory_efficiency", d.memory_efficiency, kShare);
  d.tile_efficiency[0] = fields.number("large_tiles", d.tile_efficiency[0], kShare);
  d.tile_efficiency[1] = fields.number("medium_tiles", d.tile_efficiency[1], kShare);
  d.tile_efficiency[2] = fields.number("small_tiles", d.tile_efficiency[2], kShare);
  d.kernel_s = fields.number("kernel_s", d.kernel_s, kSeconds);
  d.link_bytes_per_s = kGB * fields.number("link_gb_per_s", d.link_bytes_per_s / kGB, kPositive);
  d.link_base_s = fields.number("link_base_s", d.link_base_s, kSeconds);
  d.link_rank_s = fields.number("link_rank_s", d.link_rank_s, kSeconds);
  d.link_floor_s = fields.number("link_floor_s", d.link_floor_s, kSeconds);
  d.price_per_hour = fields.number("price_per_hour", d.price_per_hour, {0, 1e9});
  d.node = static_cast<int>(fields.integer("node", d.node, 1, 100'000));
}

void read_network(YamlFields& fields, Network& n) {
  n.cards = static_cast<int>(fields.integer("cards", n.cards, 1, 1000));
  n.card_bytes_per_s = kGB * fields.number("card_gb_per_s", n.card_bytes_per_s / kGB, kPositive);
  n.efficiency = fields.number("network_efficiency", n.efficiency, kShare);
  n.latency_s = fields.number("network_latency_s", n.latency_s, kSeconds);
}

Result<Machines> machines_of(YamlFields& fields) {
  auto device = find_device(fields.text("device", "a100-80"));
  if (!device.ok()) return device.error();
  const auto network = find_network(fields.text("network", usual_network(*device).name));
  if (!network.ok()) return network.error();
  Machines machines{*device, *network, kHostMemory};
  machines.device.name = fields.text("name", device->name);
  read_device(fields, machines.device);
  read_network(fields, machines.network);
  machines.host_memory_bytes = kGB * fields.number("host_memory_gb", kHostMemory / kGB, {0, 1e9});
  return machines;
}

constexpr const char* kKeysHint = "docs/planner.md lists the keys";

}  // namespace

Result<Machines> parse_machines(const TextFile& file) {
  const Result<YAML::Node> root = load_yaml(file);
  if (!root.ok()) return root.error();
  try {
    Complaints complaints;
    YamlReport report(file.path, complaints);
    YamlFields fields(report, *root, "machines");
    Machines machines{devices()[0], networks()[0], kHostMemory};
    if (fields.is_map()) {
      const auto read = machines_of(fields);
      if (!read.ok()) return read.error();
      machines = *read;
      fields.done();
    }
    if (!complaints.empty()) return complaints.error(kKeysHint);
    return machines;
  } catch (const std::exception& exception) {
    return yaml_error(file.path, exception);
  }
}

Result<std::vector<Pool>> parse_pools(const TextFile& file) {
  const Result<YAML::Node> root = load_yaml(file);
  if (!root.ok()) return root.error();
  try {
    std::vector<Pool> pools;
    if (!root->IsMap() || !(*root)["pools"].IsDefined()) return pools;
    Complaints complaints;
    YamlReport report(file.path, complaints);
    YamlFields fields(report, *root, "cluster");
    for (const YAML::Node& node : fields.list("pools")) {
      YamlFields pool(report, node, "pool");
      if (!pool.is_map()) continue;
      pool.require("devices");
      const int count = static_cast<int>(pool.integer("devices", 1, 1, 1'000'000));
      const auto machines = machines_of(pool);
      if (!machines.ok()) return machines.error();
      pool.done();
      pools.push_back({*machines, count});
    }
    fields.done();
    if (complaints.empty() && (pools.empty() || pools.size() > kMostPools)) {
      fields.complain(
          fmt::format("there are {} pools; 1 to {} can be planned for", pools.size(), kMostPools));
    }
    if (!complaints.empty()) return complaints.error(kKeysHint);
    return pools;
  } catch (const std::exception& exception) {
    return yaml_error(file.path, exception);
  }
}

Result<std::vector<Pool>> read_pools(const std::string& path) {
  if (find_device(path).ok() || !is_file(path)) return std::vector<Pool>{};
  const auto text = read_file(path, kMaxYamlBytes);
  if (!text.ok()) return text.error();
  return parse_pools({path, *text});
}

Result<Machines> find_machines(const std::string& name, const std::string& network) {
  const auto device = find_device(name);
  if (!device.ok() && is_file(name)) {
    const auto text = read_file(name, kMaxYamlBytes);
    if (!text.ok()) return text.error();
    return parse_machines({name, *text});
  }
  if (!device.ok()) return device.error();
  const auto between = find_network(network.empty() ? usual_network(*device).name : network);
  if (!between.ok()) return between.error();
  return Machines{*device, *between, kHostMemory};
}

}  // namespace weft::planner
