// How fast flows are simulated, against the limits this project has set itself and against SimGrid
// in the same run: through the command that users run, each row in a process of its own.
#include <fmt/core.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "base/child.h"
#include "base/stopwatch.h"
#include "base/table.h"
#include "collective/algorithms.h"
#include "timing/schedule_run.h"

namespace weft {
namespace {

struct Row {
  const char* pattern;
  int hosts, flows;
  double least_per_cpu_s;  // 0: no limit
  double most_bytes;       // 0: no limit
  double seconds;
  bool simgrid;  // can get anywhere with it
};

const std::vector<Row> kRows = {
    {"random", 1024, 1000, 150e3, 0, 3, true}, {"random", 1024, 4000, 20e3, 0, 3, true},
    {"random", 16384, 16384, 0, 0, 3, false},  {"random", 65536, 65536, 80e3, 100e6, 5, false},
    {"ring", 1024, 1024, 0, 0, 1, true},       {"ring", 16384, 16384, 2.5e6, 0, 3, false},
};

// Prints the row into the table; returns whether its limits were kept.
Result<bool> measure(const Row& row, Table& table) {
  std::vector<std::string> command = {WEFT_BINARY, "bench",
                                      "flows",     "--json",
                                      "--pattern", row.pattern,
                                      "--hosts",   fmt::format("{}", row.hosts),
                                      "--flows",   fmt::format("{}", row.flows),
                                      "--seconds", fmt::format("{}", row.seconds)};
  if (!row.simgrid) command.push_back("--alone");
  const auto end = run_child(command, 600);
  if (!end.ok()) return end.error();
  const auto json = nlohmann::json::parse(end->out, nullptr, /*allow_exceptions=*/false);
  if (end->code != 0 || !json.is_object()) {
    return Error{ErrorKind::kIo, fmt::format("weft bench flows ended with {}", end->code), ""};
  }
  const double rate = json.at("completions_per_cpu_s"), bytes = json.at("peak_rss_bytes");
  const bool fast = rate >= row.least_per_cpu_s;
  const bool small = row.most_bytes == 0 || bytes < row.most_bytes;
  std::string peer = row.simgrid ? json.value("simgrid_absent", "-") : "-", ratio = "-";
  if (json.contains("simgrid")) {
    const double theirs = json.at("simgrid").at("completions_per_cpu_s");
    peer = three_digits(theirs);
    ratio = three_digits(rate / theirs);
  }
  table.row(
      {fmt::format("{} {} x {}", row.pattern, row.hosts, row.flows), three_digits(rate),
       row.least_per_cpu_s > 0 ? three_digits(row.least_per_cpu_s) + (fast ? "" : " MISSED") : "-",
       three_digits(bytes * 1e-6),
       row.most_bytes > 0 ? three_digits(row.most_bytes * 1e-6) + (small ? "" : " MISSED") : "-",
       peer, ratio});
  return fast && small;
}

// A ring all-reduce as a schedule: rounds that repeat are counted, not executed.
bool bundled_ring() {
  constexpr int kRanks = 16384;
  constexpr double kMostMicroseconds = 10;
  collective::Request request;
  request.ranks = kRanks;
  const auto schedule = collective::generate("ring", request);
  CHECK(schedule.ok());
  const auto topology = read_topology("switch:latency=5us,bandwidth=12.5GB/s", kRanks);
  CHECK(topology.ok());
  ScheduleTask task{&*schedule, &*topology, {}, 100e6, {}, false, 0};
  task.placement.vertex.resize(static_cast<std::size_t>(schedule->endpoints()));
  std::iota(task.placement.vertex.begin(), task.placement.vertex.end(), 0);
  const double before = thread_cpu_seconds();
  const ScheduleTime time = run_schedule(task);
  const double step_us = (thread_cpu_seconds() - before) / static_cast<double>(time.rounds) * 1e6;
  const bool kept = step_us < kMostMicroseconds;
  std::fputs(
      fmt::format("bundled ring of {} ranks: {} us per step of {}, limit {} us{}\n", kRanks,
                  three_digits(step_us), time.rounds, kMostMicroseconds, kept ? "" : " MISSED")
          .c_str(),
      stdout);
  return kept;
}

int run() {
  Table table({"<load: hosts x flows", "completions/CPU s", "at least", "peak MB", "below",
               "SimGrid CM02", "times SimGrid"});
  bool kept = true;
  for (const Row& row : kRows) {
    const auto measured = measure(row, table);
    if (!measured.ok()) {
      std::fputs(fmt::format("flow_bench: {}\n", measured.error().text()).c_str(), stderr);
      return 2;
    }
    kept &= *measured;
  }
  std::fputs(table.text().c_str(), stdout);
  kept &= bundled_ring();
  if (!kept) std::fputs("flow_bench: a limit was MISSED\n", stderr);
  return kept ? 0 : 1;
}

}  // namespace
}  // namespace weft

int main() { return weft::run(); }
