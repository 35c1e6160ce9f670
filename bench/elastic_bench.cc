// How long one decision of an elastic policy takes through the controller, placement included, on
// clusters with the proportions of Sia's (SOSP 2023): its Philly workload, copied as often as the
// cluster is larger. Most calls of a policy lie between its rounds and cost microseconds, so the
// slowest decision of the run is held against the limit.
#include <fmt/core.h>

#include <cstdio>
#include <string>

#include "base/table.h"
#include "model/trace.h"
#include "policy/composition.h"
#include "sim/engine.h"

namespace weft {
namespace {

struct Row {
  const char* cluster;
  const char* policy;
  std::uint32_t copies;
  std::size_t jobs;  // of the workload, from its start: the long run would say nothing more
  double limit_ms;   // 0: none
};

constexpr Row kRows[] = {
    {"aws:6x4,dgx-ext:2x8,rtx:3x8", "sia", 1, 160, 0},
    {"aws:192x4,dgx-ext:64x8,rtx:96x8", "sia", 32, 160, 20},
    {"aws:192x4,dgx-ext:64x8,rtx:96x8", "pollux", 32, 25, 0},
    {"aws:9375x4,dgx-ext:3125x8,rtx:4687x8", "sia", 1562, 25, 1000},
};

Result<RunResult> run_once(const std::string& folder, const Row& row, DeviceId& devices) {
  auto cluster = read_cluster(row.cluster);
  if (!cluster.ok()) return cluster.error();
  auto composition = find_policy(row.policy);
  if (!composition.ok()) return composition.error();
  auto policy = assemble(*composition);
  if (!policy.ok()) return policy.error();
  auto trace = read_trace(folder + "/sia-artifact/workloads/philly/workload-1.csv", *cluster, {});
  if (!trace.ok()) return trace.error();
  if (trace->jobs.size() > row.jobs) trace->jobs.resize(row.jobs);
  SimRequest request;
  request.cluster = &*cluster;
  request.trace = &*trace;
  request.policy = policy->get();
  request.options.replicate = row.copies;
  devices = cluster->device_count();
  return simulate(request);
}

int run(const std::string& folder) {
  Table table({"devices", "<policy", "jobs", "decisions", "p99 ms", "slowest ms", "limit ms",
               "CPU s of the run", "mean JCT s"});
  bool kept = true;
  for (const Row& row : kRows) {
    DeviceId devices = 0;
    auto result = run_once(folder, row, devices);
    if (!result.ok()) {
      std::fputs(fmt::format("elastic_bench: {}\n", result.error().text()).c_str(), stderr);
      return 2;
    }
    const double slowest_ms = 1e3 * result->decision_max_s;
    const bool late = row.limit_ms > 0 && slowest_ms > row.limit_ms;
    kept &= !late;
    table.row({fmt::format("{}", devices), row.policy, fmt::format("{}", result->jobs),
               fmt::format("{}", result->decisions), three_digits(1e3 * result->decision_p99_s),
               three_digits(slowest_ms),
               row.limit_ms > 0 ? three_digits(row.limit_ms) + (late ? " MISSED" : "") : "-",
               three_digits(result->cpu_s), fmt::format("{:.1f}", result->jct_s.mean)});
  }
  std::fputs(table.text().c_str(), stdout);
  return kept ? 0 : 1;
}

}  // namespace
}  // namespace weft

int main(int argc, char** argv) { return weft::run(argc > 1 ? argv[1] : WEFT_SHARED_DATA "/jobs"); }
