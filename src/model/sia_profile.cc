#include "model/sia_profile.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <system_error>
#include <vector>

#include "base/delimited.h"
#include "base/files.h"

namespace weft {
namespace {

constexpr std::uint64_t kMaxProfileBytes = 64 << 20;
constexpr double kMaxStep = 1e6;   // seconds
constexpr double kMaxBatch = 1e9;  // samples
constexpr int kMicrobatches = 48;  // of a pipeline in one step

// What the simulator of the artifact knows beside the files: epochs until the target metric,
// seconds of checkpoint and restore, and how much slower the real cluster was than the tables.
struct Constants {
  const char* model;
  int epochs;
  double restart_s;
  double slowdown;
};
constexpr Constants kConstants[] = {
    {"bert", 2, 120, 1.2},   {"cifar10", 100, 50, 1.8},  {"deepspeech2", 80, 25, 1.2},
    {"gpt_pmp", 2, 30, 1.0}, {"imagenet", 90, 250, 1.2}, {"ncf", 10, 15, 1.5},
    {"yolov3", 50, 80, 1.2},
};

// The one pipelined model: devices per pipeline.
int stages(const std::string& model, const std::string& type) {
  if (model != "gpt_pmp") return 1;
  return type == "rtx" ? 8 : 2;
}

// A CSV file with a header; columns are found by name.
class ProfileTable {
 public:
  static std::optional<ProfileTable> open(const std::string& path, std::vector<std::string> columns,
                                          Complaints& complaints) {
    Result<std::string> text = read_file(path, kMaxProfileBytes);
    if (!text.ok()) {
      complaints.add(text.error().what);
      return std::nullopt;
    }
    ProfileTable table(path, std::move(text).value());
    if (!table.find_columns(columns, complaints)) return std::nullopt;
    return table;
  }

  // Calls row(numbers) for every record whose fields are all numbers, in the order of `columns`.
  template <typename Row>
  void for_each(Complaints& complaints, Row&& row) {
    DelimitedScanner scanner(text_);
    scanner.next();  // header
    std::vector<double> numbers(columns_.size());
    while (scanner.next()) {
      bool good = true;
      for (std::size_t c = 0; c < columns_.size() && good; ++c) {
        const bool present = columns_[c].index < scanner.fields().size();
        const std::string_view field = present ? scanner.fields()[columns_[c].index] : "";
        const std::optional<double> number = parse_number(field);
        good = number.has_value();
        if (good) {
          numbers[c] = *number;
        } else {
          complain(complaints, scanner.line(),
                   fmt::format("{} is {}; it must be a number", columns_[c].name, shown(field)));
        }
      }
      if (!good) continue;
      const std::string problem = row(numbers);
      if (!problem.empty()) complain(complaints, scanner.line(), problem);
    }
  }

 private:
  struct Column {
    std::string name;
    std::size_t index;
  };

  ProfileTable(std::string path, std::string text)
      : path_(std::move(path)), text_(std::move(text)) {}

  void complain(Complaints& complaints, long line, const std::string& problem) const {
    complaints.add(fmt::format("{}:{}: {}", path_, line, problem));
  }

  bool find_columns(const std::vector<std::string>& wanted, Complaints& complaints) {
    DelimitedScanner scanner(text_);
    scanner.next();
    for (const std::string& name : wanted) {
      const auto fields = scanner.fields();
      const auto found = std::find_if(fields.begin(), fields.end(),
                                      [&](std::string_view f) { return trimmed(f) == name; });
      if (found == fields.end()) {
        complaints.add(fmt::format("{}:1: there is no column '{}'", path_, name));
        return false;
      }
      columns_.push_back({name, static_cast<std::size_t>(found - fields.begin())});
    }
    return true;
  }

  std::string path_;
  std::string text_;
  std::vector<Column> columns_;
};

bool whole(double number, double most) {
  return number >= 1 && number <= most && number == static_cast<double>(static_cast<long>(number));
}

// "1132": one digit per node. Empty when the number is none.
std::vector<int> placement_of(double number) {
  std::vector<int> placement;
  if (!whole(number, 1e16)) return placement;
  for (const char digit : fmt::format("{:.0f}", number)) placement.push_back(digit - '0');
  if (std::find(placement.begin(), placement.end(), 0) != placement.end()) placement.clear();
  return placement;
}

// The checks common to both kinds of step-time file; adds the row when there is nothing to say. The
// step of plain data parallelism contains its exchange; a pipeline's file gives the two apart.
std::string add_row(StepTable::Row row, double local_batch, double step_s, double sync_s,
                    bool pipeline, std::vector<StepTable::Row>& rows) {
  if (!whole(local_batch, kMaxBatch))
    return fmt::format("local_bsz is {}; it must be a whole number above 0", local_batch);
  if (!(step_s > 0 && step_s <= kMaxStep))
    return fmt::format("step_time is {} s; it must be above 0 and at most {}", step_s, kMaxStep);
  const double longest = pipeline ? kMaxStep : step_s;
  if (!(sync_s >= 0 && sync_s < longest))
    return fmt::format("sync_time is {} s; it must be at least 0 and below {}", sync_s, longest);
  row.local_batch = static_cast<int>(local_batch);
  row.time = pipeline ? StepTime{step_s, step_s + sync_s} : StepTime{step_s - sync_s, step_s};
  rows.push_back(std::move(row));
  return "";
}

void read_step_times(const std::string& folder, const std::string& type, bool pipeline,
                     Complaints& complaints, std::vector<StepTable::Row>& rows) {
  if (auto table =
          ProfileTable::open(path_in(folder, "placements-" + type + ".csv"),
                             {"placement", "local_bsz", "step_time", "sync_time"}, complaints)) {
    table->for_each(complaints, [&](const std::vector<double>& n) -> std::string {
      std::vector<int> placement = placement_of(n[0]);
      if (placement.empty())
        return fmt::format("placement is {}; it must be one digit from 1 to 9 per node", n[0]);
      Gang gang{static_cast<int>(placement.size()), 0};
      for (const int replicas : placement) gang.replicas += replicas;
      return add_row({std::move(placement), gang, 1, {}}, n[1], n[2], n[3], pipeline, rows);
    });
  }
  if (auto table = ProfileTable::open(
          path_in(folder, "scalability-" + type + ".csv"),
          {"num_nodes", "num_replicas", "local_bsz", "step_time", "sync_time"}, complaints)) {
    table->for_each(complaints, [&](const std::vector<double>& n) -> std::string {
      if (!whole(n[0], 1e6) || !whole(n[1], 1e6) || n[0] > n[1])
        return fmt::format(
            "num_nodes {} and num_replicas {} must be whole numbers, the first no "
            "larger than the second",
            n[0], n[1]);
      const Gang gang{static_cast<int>(n[0]), static_cast<int>(n[1])};
      return add_row({{}, gang, 1, {}}, n[2], n[3], n[4], pipeline, rows);
    });
  }
}

// A pipeline's files give the forward time of one stage on one microbatch. A step fills and drains
// the pipeline and passes over it three times, forward and twice as long backward; the
// artifact's simulator leaves the exchange out of the step, here it is added.
std::vector<StepTable::Row> as_pipelines(std::span<const StepTable::Row> rows, int stage_count) {
  std::vector<StepTable::Row> result;
  for (const StepTable::Row& row : rows) {
    if (row.local_batch != 1) continue;
    StepTable::Row step = row;
    step.local_batch = kMicrobatches;
    step.time.compute_s = 3 * (stage_count - 1 + kMicrobatches) * row.time.compute_s;
    step.time.step_s = step.time.compute_s + (row.time.step_s - row.time.compute_s);
    result.push_back(std::move(step));
  }
  return result;
}

std::optional<Goodput::OnType> read_type(const std::string& folder, const std::string& model,
                                         const std::string& type, Complaints& complaints) {
  std::vector<StepTable::Row> rows;
  const long before = complaints.count();
  const int per_replica = stages(model, type);
  read_step_times(folder, type, per_replica > 1, complaints, rows);
  if (complaints.count() != before) return std::nullopt;
  const bool any = std::any_of(rows.begin(), rows.end(),
                               [](const StepTable::Row& row) { return !row.placement.empty(); });
  if (!any) {
    complaints.add(
        fmt::format("{}: there are no step times", path_in(folder, "placements-" + type + ".csv")));
    return std::nullopt;
  }
  if (per_replica > 1) rows = as_pipelines(rows, per_replica);
  Goodput::OnType result{type, StepTable(rows), {}, per_replica, 0};
  result.limits.local_min = rows.front().local_batch;
  for (const StepTable::Row& row : rows) {
    if (row.placement.empty()) continue;
    result.limits.local_min = std::min(result.limits.local_min, row.local_batch);
    result.limits.local_max = std::max(result.limits.local_max, row.local_batch);
    if (row.gang.replicas == per_replica)
      result.one_replica_rate =
          std::max(result.one_replica_rate, row.local_batch / row.time.step_s);
  }
  return result;
}

std::optional<NoiseTable::Run> read_run(const std::string& folder, const std::string& batch,
                                        Complaints& complaints) {
  NoiseTable::Run run;
  const std::string path = path_in(folder, "validation-" + batch + ".csv");
  const std::optional<std::int64_t> size = parse_integer(batch);
  if (!size || *size < 1 || static_cast<double>(*size) > kMaxBatch) {
    complaints.add(fmt::format("{}: {} is no batch size", path, shown(batch)));
    return std::nullopt;
  }
  run.batch = static_cast<int>(*size);
  auto table = ProfileTable::open(path, {"progress", "grad_sqr", "grad_var"}, complaints);
  if (!table) return std::nullopt;
  const long before = complaints.count();
  table->for_each(complaints, [&](const std::vector<double>& n) -> std::string {
    const double last = run.epochs.empty() ? 0.0 : run.epochs.back().progress;
    if (n[0] <= last) return fmt::format("progress is {}; it must rise above {}", n[0], last);
    if (n[1] < 0 || n[2] < 0 || n[1] + n[2] <= 0)
      return fmt::format("grad_sqr {} and grad_var {} must not be negative or both 0", n[1], n[2]);
    run.epochs.push_back({n[0], {n[1], n[2]}});
    return "";
  });
  if (complaints.count() != before) return std::nullopt;
  if (run.epochs.empty()) {
    complaints.add(fmt::format("{}: there are no epochs", path));
    return std::nullopt;
  }
  return run;
}

// The parts of the names "PREFIX-part.csv" in a folder, in ascending order.
std::vector<std::string> parts_of(const std::string& folder, const std::string& prefix) {
  std::vector<std::string> parts;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    const std::string start = prefix + "-";
    if (name.size() > start.size() + 4 && name.starts_with(start) && name.ends_with(".csv"))
      parts.push_back(name.substr(start.size(), name.size() - start.size() - 4));
  }
  std::sort(parts.begin(), parts.end());
  return parts;
}

}  // namespace

Result<Goodput> read_sia_profile(const std::string& folder) {
  const std::vector<std::string> types = parts_of(folder, "placements");
  const std::vector<std::string> batches = parts_of(folder, "validation");
  if (types.empty() || batches.empty())
    return Error{
        ErrorKind::kNotFound,
        fmt::format("{} holds {} placements-TYPE.csv and {} validation-BATCH.csv files; at "
                    "least one of each is needed",
                    folder, types.size(), batches.size()),
        "name the folder of one model, such as traces/bert"};
  std::filesystem::path path(folder);
  if (!path.has_filename()) path = path.parent_path();
  const std::string model = path.filename().string();

  Complaints complaints;
  std::vector<NoiseTable::Run> runs;
  for (const std::string& batch : batches)
    if (auto run = read_run(folder, batch, complaints)) runs.push_back(std::move(*run));
  std::vector<Goodput::OnType> on_types;
  for (const std::string& type : types)
    if (auto on_type = read_type(folder, model, type, complaints))
      on_types.push_back(std::move(*on_type));
  if (!complaints.empty()) return complaints.error("correct the lines above");

  NoiseTable noise(std::move(runs));
  Goodput profile{model, std::move(on_types), std::move(noise)};
  profile.epochs = profile.noise.epochs();
  for (const Constants& constants : kConstants) {
    if (model != constants.model) continue;
    profile.epochs = std::min(profile.epochs, constants.epochs);
    profile.restart_s = constants.restart_s;
    profile.slowdown = constants.slowdown;
  }
  for (Goodput::OnType& on_type : profile.on_types) {
    on_type.limits.initial = profile.noise.smallest_batch();
    on_type.limits.largest = profile.noise.largest_batch();
  }
  return profile;
}

}  // namespace weft
