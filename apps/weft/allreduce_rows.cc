#include "allreduce_rows.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>

namespace weft {
namespace {

Error broken(std::string what) { return {ErrorKind::kInvalidInput, std::move(what), ""}; }

struct RankLine {
  bool seen = false;
  std::vector<double> times_s;
  double cpu_s = 0;
};

// Nothing: the line is no result of a rank.
std::optional<nlohmann::json> parse_line(const std::string& line) {
  if (!line.starts_with('{')) return std::nullopt;
  auto json = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
  const auto is_number = [&](const char* key) {
    return json.contains(key) && json[key].is_number();
  };
  if (!json.is_object() || !is_number("rank") || !is_number("size_bytes") || !is_number("cpu_s") ||
      !is_number("wrong") || !json.contains("times_s") || !json["times_s"].is_array()) {
    return std::nullopt;
  }
  const auto& times = json["times_s"];
  if (!std::all_of(times.begin(), times.end(), [](const auto& t) { return t.is_number(); })) {
    return std::nullopt;
  }
  return json;
}

std::optional<double> parse_prediction(const std::string& line, std::uint64_t size_bytes) {
  if (!line.starts_with('{')) return std::nullopt;
  const auto json = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("predicted_s") || !json["predicted_s"].is_number() ||
      !json.contains("size_bytes") || json["size_bytes"] != size_bytes) {
    return std::nullopt;
  }
  return json["predicted_s"].get<double>();
}

// An empty sentence when the lines fit together.
std::string complaint(const std::vector<RankLine>& ranks) {
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    if (!ranks[r].seen) return fmt::format("rank {} printed no result", r);
    if (ranks[r].times_s.empty()) return fmt::format("rank {} timed no iteration", r);
    if (ranks[r].times_s.size() != ranks[0].times_s.size()) {
      return fmt::format("rank {} timed {} iterations and rank 0 timed {}", r,
                         ranks[r].times_s.size(), ranks[0].times_s.size());
    }
  }
  return "";
}

}  // namespace

Result<GroupRun> read_group(const std::string& text, int ranks, std::uint64_t size_bytes) {
  CHECK(ranks > 0 && size_bytes > 0);
  std::vector<RankLine> of_rank(static_cast<std::size_t>(ranks));
  GroupRun run;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (const auto predicted = parse_prediction(line, size_bytes)) run.predicted_s = predicted;
    const auto json = parse_line(line);
    if (!json || (*json)["size_bytes"].get<double>() != static_cast<double>(size_bytes)) continue;
    const double rank = (*json)["rank"].get<double>();
    if (!(rank >= 0 && rank < ranks)) {
      return broken(fmt::format("a line is of rank {}; there are {} ranks", rank, ranks));
    }
    RankLine& mine = of_rank[static_cast<std::size_t>(rank)];
    if (mine.seen) return broken(fmt::format("rank {} printed two results", rank));
    mine = {true, (*json)["times_s"].get<std::vector<double>>(), (*json)["cpu_s"].get<double>()};
    run.wrong += (*json)["wrong"].get<std::uint64_t>();
  }
  if (const std::string what = complaint(of_rank); !what.empty()) return broken(what);
  run.times_s = of_rank[0].times_s;
  double cpu_s = 0;
  for (const RankLine& rank : of_rank) {
    cpu_s += rank.cpu_s;
    for (std::size_t i = 0; i < run.times_s.size(); ++i) {
      run.times_s[i] = std::max(run.times_s[i], rank.times_s[i]);
    }
  }
  const double gigabytes =
      static_cast<double>(size_bytes) * 1e-9 * static_cast<double>(run.times_s.size());
  run.cpu_s_per_gb = cpu_s / ranks / gigabytes;
  return run;
}

double median_of(std::vector<double> values) {
  CHECK(!values.empty());
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

AllReduceRow fold_rounds(std::string library, std::string algorithm, std::uint64_t size_bytes,
                         const std::vector<GroupRun>& rounds) {
  CHECK(!rounds.empty());
  AllReduceRow row{std::move(library), std::move(algorithm), size_bytes};
  std::vector<double> medians, minima, cpu, predicted;
  for (const GroupRun& round : rounds) {
    medians.push_back(median_of(round.times_s));
    minima.push_back(*std::min_element(round.times_s.begin(), round.times_s.end()));
    cpu.push_back(round.cpu_s_per_gb);
    if (round.predicted_s) predicted.push_back(*round.predicted_s);
    row.wrong += round.wrong;
    row.iterations += static_cast<int>(round.times_s.size());
  }
  row.median_s = median_of(medians);
  row.min_s = *std::min_element(minima.begin(), minima.end());
  row.cpu_s_per_gb = median_of(cpu);
  row.rounds = static_cast<int>(rounds.size());
  if (!predicted.empty()) row.predicted_s = median_of(predicted);
  return row;
}

std::vector<AllReduceRow> best_algorithms(const std::vector<AllReduceRow>& rows) {
  std::vector<AllReduceRow> best;
  for (const AllReduceRow& row : rows) {
    const auto held = std::find_if(best.begin(), best.end(), [&](const AllReduceRow& other) {
      return other.library == row.library && other.size_bytes == row.size_bytes;
    });
    if (held == best.end()) {
      best.push_back(row);
      continue;
    }
    const std::uint64_t wrong = held->wrong + row.wrong;
    if (row.median_s < held->median_s) *held = row;
    held->wrong = wrong;
  }
  return best;
}

const AllReduceRow* fastest(const std::vector<AllReduceRow>& rows, std::uint64_t size_bytes,
                            const std::string& except) {
  const AllReduceRow* best = nullptr;
  for (const AllReduceRow& row : rows) {
    if (row.size_bytes != size_bytes || row.library == except) continue;
    if (best == nullptr || row.median_s < best->median_s) best = &row;
  }
  return best;
}

}  // namespace weft
