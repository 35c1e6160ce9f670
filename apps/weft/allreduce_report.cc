#include "allreduce_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "base/check.h"
#include "base/quantity.h"
#include "base/table.h"
#include "bench_allreduce.h"

namespace weft {
namespace {

const AllReduceRow* find_row(const AllReduceReport& report, const std::string& library,
                             std::uint64_t size_bytes) {
  for (const AllReduceRow& row : report.rows) {
    if (row.library == library && row.size_bytes == size_bytes) return &row;
  }
  return nullptr;
}

bool has_floor(const AllReduceReport& report, const AllReduceRow& row) {
  return report.arena.empty() && row.size_bytes >= kFloorFromBytes;
}

std::string describe_failure(const AllReduceFailure& failure) {
  return fmt::format("{}{}{} at {}, round {}: {}", failure.library,
                     failure.algorithm.empty() ? "" : " ", failure.algorithm,
                     message_size_text(failure.size_bytes), failure.round + 1, failure.why);
}

std::string machine_text(const AllReduceReport& report) {
  const auto shown_as = [](const std::optional<double>& value) {
    return value ? three_digits(*value) : std::string("unknown");
  };
  return fmt::format(
      "machine: steal {} % of the time, load average {} before and {} after; {} threads copy {} "
      "and "
      "update in place {}\n",
      report.steal ? three_digits(*report.steal * 100) : "unknown", shown_as(report.load_before),
      shown_as(report.load_after), report.memory.threads,
      bytes_per_s_text(report.memory.copied_bytes_per_s),
      bytes_per_s_text(report.memory.updated_bytes_per_s));
}

}  // namespace

double AllReduceReport::floor_s(std::uint64_t size_bytes) const {
  return ranks * static_cast<double>(size_bytes) / memory.updated_bytes_per_s;
}

double AllReduceReport::ideal_s(std::uint64_t size_bytes) const {
  CHECK(link_bytes_per_s.has_value());
  return 2.0 * (ranks - 1) / ranks * static_cast<double>(size_bytes) / *link_bytes_per_s;
}

bool AllReduceReport::all_well() const {
  for (const AllReduceRow& row : rows) {
    if (row.wrong > 0) return false;
  }
  for (const std::string& library : libraries) {
    for (const std::uint64_t size : sizes_bytes) {
      if (find_row(*this, library, size) == nullptr) return false;
    }
  }
  return true;
}

std::string AllReduceReport::verdict() const {
  CHECK(!libraries.empty());
  const std::string& subject = libraries[0];
  std::vector<std::string> parts;
  for (const std::uint64_t size : sizes_bytes) {
    const AllReduceRow* mine = find_row(*this, subject, size);
    const AllReduceRow* other = fastest(rows, size, subject);
    if (mine == nullptr) {
      parts.push_back(fmt::format("{} no result", message_size_text(size)));
    } else if (other != nullptr) {
      parts.push_back(fmt::format("{} {}x {}", message_size_text(size),
                                  three_digits(other->median_s / mine->median_s), other->library));
    }
  }
  std::uint64_t wrong = 0;
  for (const AllReduceRow& row : rows) wrong += row.wrong;
  return fmt::format("{}{}; {}",
                     libraries.size() == 1 && parts.empty()
                         ? subject + " alone"
                         : "speed of " + subject + " against the best of the others: ",
                     fmt::join(parts, ", "),
                     wrong > 0 ? fmt::format("{} WRONG SUMS", wrong) : "no wrong sum") +
         (failures.empty() ? "" : fmt::format("; {} groups failed", failures.size()));
}

std::string report_text(const AllReduceReport& report) {
  std::vector<std::string> headings = {"size",        "<library",    "<algorithm", "median us",
                                       "min us",      "CPU s/GB",    "wrong",      "times best",
                                       "times floor", "predicted us"};
  if (report.link_bytes_per_s) headings.push_back("of ideal %");
  Table table(headings);
  for (const std::uint64_t size : report.sizes_bytes) {
    for (const AllReduceRow& row : report.rows) {
      if (row.size_bytes != size) continue;
      std::vector<std::string> cells = {
          message_size_text(size),
          row.library,
          row.algorithm.empty() ? "-" : row.algorithm,
          three_digits(row.median_s * 1e6),
          three_digits(row.min_s * 1e6),
          three_digits(row.cpu_s_per_gb),
          fmt::format("{}", row.wrong),
          fmt::format("{:.2f}x", row.median_s / fastest(report.rows, size)->median_s),
          has_floor(report, row) ? three_digits(row.median_s / report.floor_s(size)) : "-",
          row.predicted_s ? three_digits(*row.predicted_s * 1e6) : "-"};
      if (report.link_bytes_per_s) {
        cells.push_back(three_digits(report.ideal_s(size) / row.median_s * 100));
      }
      table.row(std::move(cells));
    }
  }
  std::string text = fmt::format(
      "all-reduce of fp32, {} ranks on {}, {} rounds of fresh processes, interleaved; KB, MB: "
      "powers "
      "of 1024, GB of CPU s/GB: 10^9 bytes\n\n{}\n",
      report.ranks, report.arena.empty() ? "one host" : "hosts of " + report.arena, report.rounds,
      table.text());
  for (const AllReduceFailure& failure : report.failures) {
    text += "failed: " + describe_failure(failure) + "\n";
  }
  text += machine_text(report);
  if (report.arena.empty()) {
    text += "floor: every rank's buffer read and written once, by all these threads together\n";
  }
  return text + report.verdict() + "\n";
}

std::string report_json(const AllReduceReport& report) {
  const auto or_null = [](const std::optional<double>& value) {
    return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
  };
  nlohmann::ordered_json j;
  j["schema"] = 1;
  j["ranks"] = report.ranks;
  j["rounds"] = report.rounds;
  j["rows"] = nlohmann::ordered_json::array();
  for (const AllReduceRow& row : report.rows) {
    nlohmann::ordered_json r = {{"library", row.library},       {"algorithm", row.algorithm},
                                {"size_bytes", row.size_bytes}, {"median_s", row.median_s},
                                {"min_s", row.min_s},           {"cpu_s_per_gb", row.cpu_s_per_gb},
                                {"wrong", row.wrong},           {"rounds", row.rounds},
                                {"iterations", row.iterations}};
    if (has_floor(report, row)) r["times_floor"] = row.median_s / report.floor_s(row.size_bytes);
    if (row.predicted_s) r["predicted_s"] = *row.predicted_s;
    if (report.link_bytes_per_s)
      r["share_of_ideal"] = report.ideal_s(row.size_bytes) / row.median_s;
    j["rows"].push_back(std::move(r));
  }
  j["failures"] = nlohmann::ordered_json::array();
  for (const AllReduceFailure& failure : report.failures)
    j["failures"].push_back(describe_failure(failure));
  j["steal_share"] = or_null(report.steal);
  j["load_average"] = {{"before", or_null(report.load_before)},
                       {"after", or_null(report.load_after)}};
  j["memory"] = {{"threads", report.memory.threads},
                 {"copied_bytes_per_s", report.memory.copied_bytes_per_s},
                 {"updated_bytes_per_s", report.memory.updated_bytes_per_s}};
  j["verdict"] = report.verdict();
  return j.dump(2) + "\n";
}

}  // namespace weft
