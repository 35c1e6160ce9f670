#include "model/readers/sia_reader.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <tuple>

#include "base/files.h"
#include "model/readers/trace_builder.h"
#include "model/sia_profile.h"

namespace weft {
namespace {

constexpr std::uint32_t kMostReplicas = 64;  // of an elastic gang, as in the artifact
constexpr std::int64_t kMostBatch = 1'000'000'000;

// The artifact names types by the machines they were measured on.
std::string measured_name(const std::string& type) {
  if (same_ignoring_case(type, "t4")) return "aws";
  if (same_ignoring_case(type, "a100")) return "dgx-ext";
  return type;
}

struct TypeShape {
  std::uint32_t node_devices = 0, nodes = 0;  // largest nodes, and how many there are
};

std::vector<TypeShape> shapes_of(const Cluster& cluster) {
  std::vector<TypeShape> shapes(cluster.types.size());
  for (const Node& node : cluster.nodes) {
    TypeShape& shape = shapes[node.type];
    if (node.devices > shape.node_devices) shape = {node.devices, 0};
    shape.nodes += node.devices == shape.node_devices;
  }
  return shapes;
}

std::vector<int> packed(std::uint32_t replicas, std::uint32_t node_devices) {
  std::vector<int> placement(replicas / node_devices, static_cast<int>(node_devices));
  if (replicas % node_devices != 0) {
    placement.push_back(static_cast<int>(replicas % node_devices));
  }
  return placement;
}

// Mean over the whole training; 0 when the batch does not fit.
double mean_rate(const Goodput& goodput, std::size_t on_type, std::span<const int> placement,
                 const BatchChoice& batch) {
  double seconds = 0, from = 0;
  for (int epoch = 0; epoch < goodput.epochs; ++epoch) {
    const double rate = goodput.rate(on_type, placement, batch, epoch);
    if (rate <= 0) return 0;
    seconds += (goodput.noise.end_of(epoch) - from) / rate;
    from = goodput.noise.end_of(epoch);
  }
  return from / seconds;
}

class SiaMenus {
 public:
  SiaMenus(const Cluster& cluster, TraceBuilder& builder)
      : cluster_(cluster),
        shapes_(shapes_of(cluster)),
        builder_(builder),
        dealt_(cluster.types.size()) {}

  // Null, with a complaint, when the job fits on no type.
  std::shared_ptr<const Menu> of(const Goodput& goodput, std::uint32_t replicas,
                                 std::uint32_t batch, TableReader& rows) {
    const auto [it, added] = asked_.try_emplace({goodput.name, replicas, batch});
    Asked& asked = it->second;
    if (added) asked.configurations = requested(goodput, replicas, batch);
    if (asked.configurations.empty()) {
      std::uint32_t most = 0;
      for (const TypeShape& shape : shapes_)
        most = std::max(most, shape.node_devices * shape.nodes);
      rows.complain(
          fmt::format("{} replicas of {} with a batch of {} fit on no device type; the "
                      "largest has {} devices",
                      replicas, goodput.name, batch, most));
      return nullptr;
    }
    const size_t first = deal(asked.configurations);
    std::shared_ptr<const Menu>& menu = asked.menus[first];
    if (menu != nullptr) return menu;
    Menu made{asked.configurations};
    std::swap(made.configurations[0], made.configurations[first]);
    for (TypeId type = 0; type < cluster_.types.size(); ++type) add_elastic(goodput, type, made);
    return menu = builder_.menus().share(std::move(made));
  }

 private:
  // What jobs of one kind ask for on each type where it fits, and a menu for each of them put
  // first.
  struct Asked {
    std::vector<Configuration> configurations;
    std::map<size_t, std::shared_ptr<const Menu>> menus;
  };

  // The trace does not name types: jobs are dealt to those where they fit so that each type is
  // asked for in proportion to its devices.
  size_t deal(const std::vector<Configuration>& fitting) {
    size_t first = 0;
    double least = 0;
    for (size_t i = 0; i < fitting.size(); ++i) {
      const TypeShape& shape = shapes_[fitting[i].type];
      const double asked = static_cast<double>(dealt_[fitting[i].type] + fitting[i].devices) /
                           (shape.node_devices * shape.nodes);
      if (i == 0 || asked < least) {
        first = i;
        least = asked;
      }
    }
    dealt_[fitting[first].type] += fitting[first].devices;
    return first;
  }

  std::vector<Configuration> requested(const Goodput& goodput, std::uint32_t replicas,
                                       std::uint32_t batch) const {
    std::vector<Configuration> made;
    for (TypeId type = 0; type < cluster_.types.size(); ++type) {
      const TypeShape& shape = shapes_[type];
      if (replicas > shape.node_devices * shape.nodes) continue;
      const std::vector<int> placement = packed(replicas, shape.node_devices);
      const Goodput::OnType& here = goodput.on_types[type];
      BatchLimits limits = here.limits;
      limits.local_max = std::min(limits.local_max, here.steps.local_max(placement));
      if (limits.local_max < 1) continue;
      const BatchChoice split =
          split_batch(static_cast<int>(batch), static_cast<int>(replicas), limits);
      Configuration c;
      c.type = type;
      c.devices = replicas;
      c.batch = batch;
      c.rate = mean_rate(goodput, type, placement, split);
      if (c.rate <= 0) continue;
      const auto time = here.steps.at(placement, split.local_batch);
      c.seconds_per_step = (time->step_s + split.accumulation * time->compute_s) * goodput.slowdown;
      c.work_per_step = c.rate * c.seconds_per_step;
      made.push_back(c);
    }
    return made;
  }

  void add_elastic(const Goodput& goodput, TypeId type, Menu& menu) const {
    const TypeShape& shape = shapes_[type];
    const BatchLimits& limits = goodput.on_types[type].limits;
    const std::vector<int> one = {1};
    const double alone = goodput.rate(type, one, split_batch(limits.initial, 1, limits), 0);
    const std::uint32_t most = std::min(kMostReplicas, shape.node_devices * shape.nodes);
    for (std::uint32_t devices = 1; devices <= most; ++devices) {
      const bool inside = devices <= shape.node_devices;
      if (!inside && devices % 4 != 0 && devices % shape.node_devices != 0) continue;
      if (limits.local_min * static_cast<int>(devices) > limits.largest) break;
      Configuration c;
      c.type = type;
      c.devices = devices;
      c.rate = alone * devices;
      menu.configurations.push_back(c);
    }
  }

  const Cluster& cluster_;
  std::vector<TypeShape> shapes_;
  TraceBuilder& builder_;
  std::map<std::tuple<std::string, std::uint32_t, std::uint32_t>, Asked> asked_;
  std::vector<std::uint64_t> dealt_;  // devices asked for first, by type
};

std::string listed(const std::string& folder) {
  std::set<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.is_directory(error)) names.insert(entry.path().filename().string());
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

// Profiles of the applications, each read once.
class SiaProfiles {
 public:
  SiaProfiles(std::string folder, const Cluster& cluster, Complaints& complaints)
      : folder_(std::move(folder)), cluster_(cluster), complaints_(complaints) {}

  // Null, with a complaint the first time, when it cannot be used.
  std::shared_ptr<const Goodput> of(std::string_view application, int column, TableReader& rows) {
    const auto [it, added] = known_.try_emplace(std::string(application));
    if (!added) return it->second;
    const std::string path = path_in(folder_, it->first);
    const bool plain = !application.empty() && application.find('/') == std::string_view::npos &&
                       application.front() != '.';
    if (!plain || !is_folder(path)) {
      rows.refuse(column, fmt::format("one of the profiles in {}: {}", folder_, listed(folder_)));
      return nullptr;
    }
    Result<Goodput> read = read_sia_profile(path);
    if (!read.ok()) {
      complaints_.add(read.error().what);
    } else if (keep_types_of_cluster(*read, path)) {
      it->second = std::make_shared<const Goodput>(std::move(read).value());
    }
    return it->second;
  }

 private:
  // Puts on_types in the order of the cluster's types, under their names.
  bool keep_types_of_cluster(Goodput& goodput, const std::string& path) {
    std::vector<std::string> names;
    for (const Goodput::OnType& on_type : goodput.on_types) names.push_back(on_type.type);
    std::vector<Goodput::OnType> kept;
    for (const DeviceType& type : cluster_.types) {
      const int measured = goodput.find_type(measured_name(type.name));
      if (measured < 0) {
        complaints_.add(
            fmt::format("{} has no measurements on device type '{}' of the cluster; "
                        "it has them on {}",
                        path, type.name, fmt::join(names, ", ")));
        continue;
      }
      kept.push_back(goodput.on_types[static_cast<std::size_t>(measured)]);
      kept.back().type = type.name;
    }
    goodput.on_types = std::move(kept);
    return goodput.on_types.size() == cluster_.types.size();
  }

  std::string folder_;
  const Cluster& cluster_;
  Complaints& complaints_;
  std::map<std::string, std::shared_ptr<const Goodput>, std::less<>> known_;
};

}  // namespace

Result<Trace> read_sia(const TextFile& file, const Cluster& cluster, const TraceOptions& options) {
  const std::string folder =
      options.profiles.empty() ? path_in(folder_of(file.path), "../../traces") : options.profiles;
  if (!is_folder(folder)) {
    return Error{ErrorKind::kNotFound,
                 fmt::format("{}: the folder of profiles {} does not exist", file.path, folder),
                 "name it with --profiles; it has one folder of measurements per application"};
  }
  TraceBuilder builder(file.path, "sia");
  TableReader rows(file, {}, builder.complaints());
  if (!rows.require({"name", "time", "application", "num_replicas", "batch_size"})) {
    return builder.finish();
  }
  const int name = rows.column("name"), time = rows.column("time");
  const int application = rows.column("application"), batch_size = rows.column("batch_size");
  const int num_replicas = rows.column("num_replicas");
  SiaProfiles profiles(folder, cluster, builder.complaints());
  SiaMenus menus(cluster, builder);
  while (rows.next()) {
    Submission submission;
    submission.name = rows.text(name);
    submission.submit = rows.number(time, kTimeLimits);
    submission.tenant = builder.tenant("", rows.line());
    submission.elastic = true;
    const auto replicas = rows.integer(num_replicas, 1, kMaxJobDevices);
    const auto batch = rows.integer(batch_size, 1, kMostBatch);
    Truth truth;
    truth.goodput = profiles.of(rows.text(application), application, rows);
    if (truth.goodput == nullptr) continue;
    truth.work = truth.goodput->total_progress();
    submission.menu = menus.of(*truth.goodput, static_cast<std::uint32_t>(replicas),
                               static_cast<std::uint32_t>(batch), rows);
    if (submission.menu == nullptr) continue;
    builder.add(rows.line(), std::move(submission), std::move(truth));
  }
  return builder.finish("Sia's workloads are described in docs/formats.md");
}

}  // namespace weft
