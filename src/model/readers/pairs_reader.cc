#include "model/readers/pairs_reader.h"

#include <fmt/core.h>

#include <cmath>
#include <unordered_map>

#include "base/files.h"

namespace weft {
namespace {

constexpr const char* kAlone = "single_data.csv";
constexpr const char* kTogether = "colocate_info.csv";
constexpr std::uint64_t kMaxPairsBytes = std::uint64_t{64} << 20;
constexpr std::size_t kMostModels = 1024;  // the pair table is dense
constexpr Limits kPercent{0, 100};
constexpr Limits kMebibytes{0, 1e9};
constexpr Limits kRelativeSpeed{0, 100};

Bytes mebibytes(double mib) { return static_cast<Bytes>(std::llround(mib * (1 << 20))); }

std::string model_name(TableReader& rows, const std::string& suffix) {
  const auto batch = rows.integer(rows.column("batchsize" + suffix), 1, 1'000'000'000);
  const auto amp = rows.optional_flag(rows.column("amp" + suffix)).value_or(false);
  return fmt::format("{}-{}-{}{}", rows.text(rows.column("model" + suffix)),
                     rows.text(rows.column("dataset" + suffix)), batch, amp ? "-amp" : "");
}

using Rows = std::unordered_map<std::string, std::size_t>;

void read_alone(TableReader& rows, PairTable& table, Rows& row_of) {
  if (!rows.require({"model", "dataset", "batchsize", "amp", "gpu_util", "gmem_util", "gmem"})) {
    return;
  }
  while (rows.next()) {
    ModelProfile model;
    model.name = model_name(rows, "");
    model.device_util = rows.number(rows.column("gpu_util"), kPercent) / 100;
    model.memory_util = rows.number(rows.column("gmem_util"), kPercent) / 100;
    model.memory = mebibytes(rows.number(rows.column("gmem"), kMebibytes));
    if (rows.column("label") >= 0 && !rows.text(rows.column("label")).empty()) {
      model.packing_class = static_cast<int>(rows.integer(rows.column("label"), 0, 2));
    }
    if (!row_of.try_emplace(model.name, table.models.size()).second) {
      rows.complain(fmt::format("model {} is measured twice", shown(model.name)));
    }
    if (table.models.size() == kMostModels) {
      return rows.complain(fmt::format("there are more than {} models", kMostModels));
    }
    table.models.push_back(std::move(model));
  }
}

void read_together(TableReader& rows, PairTable& table, const Rows& row_of) {
  if (!rows.require({"model1", "dataset1", "batchsize1", "amp1", "speed1", "model2", "dataset2",
                     "batchsize2", "amp2", "speed2", "gmem"})) {
    return;
  }
  table.speed.assign(table.models.size(), {table.models.size(), PairSpeed{0, 0, 0}});
  while (rows.next()) {
    const std::string names[] = {model_name(rows, "1"), model_name(rows, "2")};
    const auto first = row_of.find(names[0]), second = row_of.find(names[1]);
    const double speeds[] = {rows.number(rows.column("speed1"), kRelativeSpeed),
                             rows.number(rows.column("speed2"), kRelativeSpeed)};
    const Bytes memory = mebibytes(rows.number(rows.column("gmem"), kMebibytes));
    if (first == row_of.end() || second == row_of.end()) {
      rows.complain(fmt::format("model {} is not in {}",
                                shown(names[first == row_of.end() ? 0 : 1]), kAlone));
      continue;
    }
    table.speed[first->second][second->second] = {speeds[0], speeds[1], memory};
    table.speed[second->second][first->second] = {speeds[1], speeds[0], memory};
  }
}

}  // namespace

Result<PairTable> parse_lucid_pairs(const TextFile& alone, const TextFile& together) {
  Complaints complaints;
  PairTable table;
  Rows row_of;
  TableReader alone_rows(alone, {}, complaints);
  read_alone(alone_rows, table, row_of);
  TableReader together_rows(together, {}, complaints);
  read_together(together_rows, table, row_of);
  if (complaints.empty() && table.models.empty()) {
    complain(complaints, alone.path, 1, "holds no models");
  }
  if (!complaints.empty()) return complaints.error("pair tables are described in docs/formats.md");
  return table;
}

Result<PairTable> read_lucid_pairs(const std::string& folder) {
  if (!is_folder(folder)) {
    return Error{ErrorKind::kNotFound,
                 fmt::format("{}: is not a folder; pair tables are a folder with {} and {}", folder,
                             kAlone, kTogether),
                 ""};
  }
  const std::string paths[] = {path_in(folder, kAlone), path_in(folder, kTogether)};
  const Result<std::string> texts[] = {read_file(paths[0], kMaxPairsBytes),
                                       read_file(paths[1], kMaxPairsBytes)};
  for (int i = 0; i < 2; ++i) {
    if (!texts[i].ok()) return texts[i].error();
    const Status status = check_is_text({paths[i], *texts[i]});
    if (!status.ok()) return status.error();
  }
  return parse_lucid_pairs({paths[0], *texts[0]}, {paths[1], *texts[1]});
}

}  // namespace weft
