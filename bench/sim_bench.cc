// How fast whole clusters are simulated: CPU seconds through the controller, decision log off,
// parsing included and printed apart; the median of five runs, against the limits this project has
// set itself and the CPU seconds its peers were measured to take on the same input.
#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/stopwatch.h"
#include "base/table.h"
#include "model/trace.h"
#include "policy/composition.h"
#include "sim/engine.h"

namespace weft {
namespace {

struct Row {
  const char* file;
  const char* cluster;
  const char* policy;
  std::uint32_t replicate;
  double limit_s;  // 0: none
  double peer_s;   // 0: none measured
  const char* peer;
};

// Peers: CPU seconds measured on one core of a like machine; see docs/benchmarks.md.
const std::vector<Row> kRows = {
    {"philly-1000.csv", "16x8", "fifo", 1, 0, 0.73, "Tiresias"},
    {"philly-8000.csv", "64x8", "fifo", 1, 0, 29.2, "Tiresias"},
    {"philly-4000.csv", "32x8", "2d-las", 1, 9.98 / 500, 9.98, "Tiresias"},
    {"philly-1000.csv", "16x8", "srtf", 1, 0, 3.83, "Lucid"},
    {"philly-full-82247.csv", "64x8", "fifo", 1, 0.3, 0, ""},
    {"philly-8000.csv", "12800x8", "fifo", 200, 4.0, 0, ""},
};

struct Measured {
  double cpu_s = 0, parse_s = 0, mean_jct_s = 0;
  long events = 0;
};

Result<Measured> measure(const std::string& folder, const Row& row) {
  auto cluster = read_cluster(row.cluster);
  if (!cluster.ok()) return cluster.error();
  auto composition = find_policy(row.policy);
  if (!composition.ok()) return composition.error();
  auto policy = assemble(*composition);
  if (!policy.ok()) return policy.error();
  std::vector<Measured> runs;
  for (int i = 0; i < 5; ++i) {
    const double before = thread_cpu_seconds();
    auto trace = read_trace(folder + "/" + row.file, *cluster, {});
    if (!trace.ok()) return trace.error();
    const double parse_s = thread_cpu_seconds() - before;
    SimRequest request;
    request.cluster = &*cluster;
    request.trace = &*trace;
    request.policy = policy->get();
    request.options.replicate = row.replicate;
    auto result = simulate(request);
    if (!result.ok()) return result.error();
    runs.push_back({parse_s + result->cpu_s, parse_s, result->jct_s.mean, result->events});
  }
  std::sort(runs.begin(), runs.end(),
            [](const Measured& a, const Measured& b) { return a.cpu_s < b.cpu_s; });
  return runs[2];
}

int run(const std::string& folder) {
  Table table({"<input", "<cluster", "<policy", "CPU s", "of it parsing s", "events/s", "limit s",
               "peer CPU s", "times less", "mean JCT s"});
  bool kept = true;
  for (const Row& row : kRows) {
    auto measured = measure(folder, row);
    if (!measured.ok()) {
      std::fputs(fmt::format("sim_bench: {}\n", measured.error().text()).c_str(), stderr);
      return 2;
    }
    const bool late = row.limit_s > 0 && measured->cpu_s > row.limit_s;
    kept &= !late;
    const std::string input =
        row.replicate > 1 ? fmt::format("{} x{}", row.file, row.replicate) : row.file;
    table.row({input, row.cluster, row.policy, three_digits(measured->cpu_s),
               three_digits(measured->parse_s),
               three_digits(static_cast<double>(measured->events) / measured->cpu_s),
               row.limit_s > 0 ? three_digits(row.limit_s) + (late ? " MISSED" : "") : "-",
               row.peer_s > 0 ? fmt::format("{} ({})", row.peer_s, row.peer) : "-",
               row.peer_s > 0 ? three_digits(row.peer_s / measured->cpu_s) : "-",
               fmt::format("{:.3f}", measured->mean_jct_s)});
  }
  std::fputs(table.text().c_str(), stdout);
  std::fputs(fmt::format("peak resident memory of all runs: {:.0f} MB\n",
                         static_cast<double>(peak_rss_bytes()) * 1e-6)
                 .c_str(),
             stdout);
  return kept ? 0 : 1;
}

}  // namespace
}  // namespace weft

int main(int argc, char** argv) { return weft::run(argc > 1 ? argv[1] : WEFT_SHARED_DATA "/jobs"); }
