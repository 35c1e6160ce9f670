#include "model/readers/weft_csv_reader.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>

#include "model/readers/load_reader.h"
#include "model/readers/model_names.h"
#include "model/readers/trace_builder.h"

namespace weft {
namespace {

constexpr std::int64_t kMaxReplicas = 1'000'000;

class CsvReader {
 public:
  CsvReader(const TextFile& file, const Cluster& cluster, std::shared_ptr<const PairTable> pairs)
      : path_(file.path),
        cluster_(cluster),
        builder_(file.path, "weft-csv"),
        rows_(file, {',', true, '#'}, builder_.complaints()),
        models_(std::move(pairs)) {
    const std::vector<std::string>& names = weft_csv_columns();
    for (std::size_t i = 0; i < names.size(); ++i) at_[i] = rows_.column(names[i]);
  }

  Result<Trace> read() {
    rows_.refuse_unknown(weft_csv_columns());
    const bool complete = rows_.require({"submit_s", "duration_s", "devices"});
    while (complete && rows_.next()) read_row();
    builder_.set_pairs(models_.pairs());
    return builder_.finish("the columns are described in docs/formats.md");
  }

 private:
  // In the order of weft_csv_columns().
  enum Column {
    kSubmit,
    kDuration,
    kDevices,
    kName,
    kTenant,
    kPriority,
    kDeadline,
    kEstimate,
    kWeight,
    kType,
    kMilli,
    kDeviceMemory,
    kCpuMilli,
    kHostMemory,
    kModel,
    kKind,
    kMinReplicas,
    kMaxReplicas,
    kReplicaRate,
    kLoadFile,
    kSpotOk,
    kPreemptible,
    kPack,
    kColumns
  };

  void read_row() {
    Submission job;
    Truth truth;
    job.submit = rows_.number(at_[kSubmit], kTimeLimits);
    const double duration = rows_.number(at_[kDuration], kDurationLimits);
    job.tenant = builder_.tenant(rows_.text(at_[kTenant]), rows_.line());
    job.priority = static_cast<std::int32_t>(
        rows_.optional_integer(at_[kPriority], -1'000'000'000, 1'000'000'000).value_or(0));
    job.weight = rows_.optional_number(at_[kWeight], kWeightLimits).value_or(1);
    job.deadline = rows_.optional_number(at_[kDeadline], {job.submit, 2 * kMaxDuration, true})
                       .value_or(kNever);
    job.spot_ok = rows_.optional_flag(at_[kSpotOk]).value_or(true);
    job.preemptible = rows_.optional_flag(at_[kPreemptible]).value_or(true);
    read_model(job);
    read_kind(job);
    Configuration configuration = read_configuration();
    truth.user_estimate =
        rows_.optional_number(at_[kEstimate], kDurationLimits).value_or(truth.user_estimate);
    if (job.kind == WorkloadKind::kService) {
      read_service(job, configuration, truth);
      truth.service_end = job.submit + duration;
    } else {
      refuse_for_other_kinds({kMinReplicas, kMaxReplicas, kReplicaRate, kLoadFile});
      truth.work = duration;
    }
    job.menu = builder_.menus().share(std::move(configuration));
    if (at_[kName] < 0) {
      builder_.add_numbered(rows_.row(), std::move(job), std::move(truth));
    } else {
      job.name = rows_.text(at_[kName]);
      builder_.add(rows_.line(), std::move(job), std::move(truth));
    }
  }

  Configuration read_configuration() {
    Configuration c;
    c.devices = static_cast<std::uint32_t>(rows_.integer(at_[kDevices], 1, kMaxJobDevices));
    c.milli =
        static_cast<std::uint32_t>(rows_.optional_integer(at_[kMilli], 1, kWhole).value_or(kWhole));
    c.device_memory =
        gibibytes(rows_.optional_number(at_[kDeviceMemory], kMemoryLimits).value_or(0));
    c.host_memory = gibibytes(rows_.optional_number(at_[kHostMemory], kMemoryLimits).value_or(0));
    c.cpu_milli = static_cast<std::uint32_t>(
        rows_.optional_integer(at_[kCpuMilli], 0, 1'000'000'000).value_or(0));
    if (const std::string_view type = rows_.text(at_[kType]); !type.empty()) {
      c.type = find_type(cluster_, type);
      if (c.type == kAnyType) {
        rows_.refuse(at_[kType], fmt::format("one of the cluster's device types, {}",
                                             fmt::join(type_names(cluster_), ", ")));
      }
    }
    if (const std::string_view pack = rows_.text(at_[kPack]); !pack.empty()) {
      const auto level = parse_level(pack);
      if (!level) rows_.refuse(at_[kPack], "node, leaf, rack, pod or cluster");
      c.pack = level.value_or(Level::kCluster);
    }
    return c;
  }

  void read_model(Submission& job) {
    const std::string_view name = rows_.text(at_[kModel]);
    if (name.empty()) return;
    job.model = models_.find(name);
    if (job.model == kNoModel) rows_.complain(models_.complaint(name));
  }

  void read_kind(Submission& job) {
    const std::string_view name = rows_.text(at_[kKind]);
    if (name.empty()) return;
    const auto kind = parse_kind(name);
    if (!kind) rows_.refuse(at_[kKind], "training, service or task");
    job.kind = kind.value_or(WorkloadKind::kTraining);
  }

  void read_service(Submission& job, Configuration& configuration, Truth& truth) {
    job.min_replicas = static_cast<std::uint32_t>(
        rows_.optional_integer(at_[kMinReplicas], 0, kMaxReplicas).value_or(1));
    job.max_replicas = static_cast<std::uint32_t>(
        rows_.optional_integer(at_[kMaxReplicas], std::max(job.min_replicas, 1U), kMaxReplicas)
            .value_or(std::max(job.min_replicas, 1U)));
    const auto rate = rows_.optional_number(at_[kReplicaRate], kRateLimits);
    const std::string_view file = rows_.text(at_[kLoadFile]);
    if (!rate)
      rows_.complain("a service needs replica_rate, the requests/s that one replica serves");
    if (file.empty()) {
      rows_.complain("a service needs load_file, its requests/s over time");
    } else {
      truth.load = load_of(std::string(file));
    }
    configuration.rate = rate.value_or(1);
  }

  void refuse_for_other_kinds(std::initializer_list<Column> columns) {
    for (const Column column : columns) {
      if (!rows_.text(at_[column]).empty())
        rows_.refuse(at_[column], "empty unless kind is service");
    }
  }

  const std::vector<LoadStep>& load_of(const std::string& name) {
    const auto [it, added] = loads_.try_emplace(name);
    if (added) {
      Result<std::vector<LoadStep>> load = read_load(path_, name);
      if (load.ok()) {
        it->second = std::move(*load);
      } else {
        rows_.complain("load_file: " + load.error().what);
      }
    }
    return it->second;
  }

  const std::string& path_;
  const Cluster& cluster_;
  TraceBuilder builder_;
  TableReader rows_;
  ModelNames models_;
  std::array<int, kColumns> at_{};
  std::map<std::string, std::vector<LoadStep>> loads_;
};

}  // namespace

const std::vector<std::string>& weft_csv_columns() {
  static const std::vector<std::string> kNames = {"submit_s",     "duration_s",
                                                  "devices",      "name",
                                                  "tenant",       "priority",
                                                  "deadline_s",   "estimate_s",
                                                  "weight",       "type",
                                                  "milli",        "device_memory_gib",
                                                  "cpu_milli",    "host_memory_gib",
                                                  "model",        "kind",
                                                  "min_replicas", "max_replicas",
                                                  "replica_rate", "load_file",
                                                  "spot_ok",      "preemptible",
                                                  "pack"};
  return kNames;
}

std::optional<Level> parse_level(std::string_view name) {
  constexpr std::array<std::string_view, kLevels> kNames = {"node", "leaf", "rack", "pod",
                                                            "cluster"};
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<Level>(i);
  }
  return std::nullopt;
}

std::optional<WorkloadKind> parse_kind(std::string_view name) {
  if (name == "training") return WorkloadKind::kTraining;
  if (name == "service") return WorkloadKind::kService;
  if (name == "task") return WorkloadKind::kTask;
  return std::nullopt;
}

Result<Trace> parse_weft_csv(const TextFile& file, const Cluster& cluster,
                             std::shared_ptr<const PairTable> pairs) {
  return CsvReader(file, cluster, std::move(pairs)).read();
}

}  // namespace weft
