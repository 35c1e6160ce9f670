#include "model/readers/alibaba_reader.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "model/readers/trace_builder.h"

namespace weft {
namespace {

constexpr Bytes kMiB = Bytes{1} << 20;
constexpr std::int64_t kMaxMilli = 1'000'000'000;
constexpr std::size_t kMaxAlibabaTypes = 1000;
constexpr std::int64_t kMaxMiB = std::int64_t{1} << 32;

std::uint32_t share_of(std::int64_t whole, std::uint32_t parts) {
  return static_cast<std::uint32_t>((whole + parts - 1) / parts);
}

// Kubernetes' classes of service, from the one to be served first.
std::optional<std::int32_t> parse_priority(std::string_view qos) {
  if (qos == "Guaranteed") return 3;
  if (qos == "LS") return 2;
  if (qos == "Burstable") return 1;
  if (qos == "BE" || qos.empty()) return 0;
  return std::nullopt;
}

class PodReader {
 public:
  PodReader(const TextFile& file, const Cluster& cluster)
      : cluster_(cluster),
        builder_(file.path, "alibaba"),
        rows_(file, {}, builder_.complaints()),
        types_are_named_(cluster.types.size() != 1 || cluster.types[0].name != "gpu") {}

  Result<Trace> read() {
    if (!rows_.require({"name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli", "gpu_spec",
                        "qos", "creation_time", "deletion_time", "scheduled_time"})) {
      return builder_.finish("pod lists are described in docs/formats.md");
    }
    while (rows_.next()) read_row();
    return builder_.finish();
  }

 private:
  void read_row() {
    const auto devices =
        static_cast<std::uint32_t>(rows_.integer(rows_.column("num_gpu"), 0, kMaxJobDevices));
    const double created = rows_.number(rows_.column("creation_time"), kTimeLimits);
    const double deleted = rows_.number(rows_.column("deletion_time"), kTimeLimits);
    const double began =
        rows_.optional_number(rows_.column("scheduled_time"), kTimeLimits).value_or(created);
    if (devices == 0 || deleted == began) return builder_.skip_row();
    if (deleted < began) {
      rows_.refuse(rows_.column("deletion_time"), fmt::format("at least {:g}", began));
    }
    Submission submission;
    submission.name = rows_.text(rows_.column("name"));
    submission.kind = WorkloadKind::kTask;
    submission.submit = created;
    submission.tenant = builder_.tenant(rows_.text(rows_.column("qos")), rows_.line());
    const auto priority = parse_priority(rows_.text(rows_.column("qos")));
    if (!priority) rows_.refuse(rows_.column("qos"), "Guaranteed, LS, Burstable or BE");
    submission.priority = priority.value_or(0);
    Menu menu = read_menu(devices);
    submission.elastic = menu.configurations.size() > 1;
    submission.menu = builder_.menus().share(std::move(menu));
    Truth truth;
    truth.work = deleted - began;
    builder_.add(rows_.line(), std::move(submission), std::move(truth));
  }

  Menu read_menu(std::uint32_t devices) {
    Configuration asked;
    asked.devices = devices;
    // Pods of several GPUs always have them whole.
    asked.milli =
        devices > 1
            ? kWhole
            : static_cast<std::uint32_t>(rows_.integer(rows_.column("gpu_milli"), 1, kWhole));
    asked.cpu_milli = share_of(rows_.integer(rows_.column("cpu_milli"), 0, kMaxMilli), devices);
    asked.host_memory = rows_.integer(rows_.column("memory_mib"), 0, kMaxMiB) * kMiB / devices;
    Menu menu;
    const std::string_view spec = rows_.text(rows_.column("gpu_spec"));
    if (spec.empty() || !types_are_named_) {
      menu.configurations.push_back(asked);
      return menu;
    }
    DelimitedScanner names(spec, {'|', false, '\0'});
    if (names.next()) {
      for (const std::string_view name : names.fields()) {
        asked.type = find_type(cluster_, name);
        const bool listed =
            std::any_of(menu.configurations.begin(), menu.configurations.end(),
                        [&](const Configuration& other) { return other.type == asked.type; });
        if (asked.type != kAnyType && !listed) menu.configurations.push_back(asked);
      }
    }
    if (menu.configurations.empty()) {
      rows_.refuse(rows_.column("gpu_spec"),
                   fmt::format("one or more of the cluster's device types, {}",
                               fmt::join(type_names(cluster_), ", ")));
      menu.configurations.push_back(asked);
    }
    return menu;
  }

  const Cluster& cluster_;
  TraceBuilder builder_;
  TableReader rows_;
  bool types_are_named_;
};

}  // namespace

Result<Trace> parse_alibaba_pods(const TextFile& file, const Cluster& cluster) {
  return PodReader(file, cluster).read();
}

Result<Cluster> parse_alibaba_nodes(const TextFile& file) {
  Complaints complaints;
  TableReader rows(file, {}, complaints);
  const std::string hint = "node lists are described in docs/formats.md";
  if (!rows.require({"sn", "cpu_milli", "memory_mib", "gpu", "model"}))
    return complaints.error(hint);
  Cluster cluster;
  cluster.text = file.path;
  while (rows.next()) {
    Node node;
    node.devices = static_cast<std::uint16_t>(
        rows.integer(rows.column("gpu"), 0, Cluster::kMaxDevicesPerNode));
    if (node.devices == 0) continue;
    node.name = rows.text(rows.column("sn"));
    node.cpu_milli =
        static_cast<std::uint32_t>(rows.integer(rows.column("cpu_milli"), 0, kMaxMilli));
    node.memory = rows.integer(rows.column("memory_mib"), 0, kMaxMiB) * kMiB;
    const std::string_view model = rows.text(rows.column("model"));
    if (model.empty()) rows.refuse(rows.column("model"), "the name of a device type");
    node.type = find_type(cluster, model);
    if (node.type == kAnyType && cluster.types.size() < kMaxAlibabaTypes) {
      node.type = static_cast<TypeId>(cluster.types.size());
      cluster.types.emplace_back().name = model;
    }
    cluster.nodes.push_back(std::move(node));
  }
  if (complaints.empty() && cluster.nodes.empty()) complain(complaints, file.path, 1, "has no GPU");
  if (cluster.types.size() >= kMaxAlibabaTypes) {
    complain(complaints, file.path, 1,
             fmt::format("has {} device types or more", kMaxAlibabaTypes));
  }
  if (!complaints.empty()) return complaints.error(hint);
  cluster.finish();
  return cluster;
}

}  // namespace weft
