// A trace as `weft-yaml`: one line of flow style for each job.
#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "demand.h"

namespace weft {
namespace {

using nlohmann::ordered_json;

constexpr const char* kLevelNames[] = {"node", "leaf", "rack", "pod", "cluster"};

ordered_json configuration_of(const Configuration& c, const Cluster& cluster) {
  const Configuration plain;
  ordered_json out = {{"devices", c.devices}, {"rate", c.rate}};
  const auto add = [&](const char* key, const auto& value, bool differs) {
    if (differs) out[key] = value;
  };
  if (c.type != kAnyType) out["type"] = cluster.types[c.type].name;
  add("milli", c.milli, c.milli != plain.milli);
  add("device_memory_gib", static_cast<double>(c.device_memory) / double{kGiB},
      c.device_memory > 0);
  add("cpu_milli", c.cpu_milli, c.cpu_milli > 0);
  add("host_memory_gib", static_cast<double>(c.host_memory) / double{kGiB}, c.host_memory > 0);
  add("pack", kLevelNames[static_cast<int>(c.pack)], c.pack != plain.pack);
  add("pack_required", c.pack_required, c.pack_required != plain.pack_required);
  add("network_guarantee_gbit_s", c.network_guarantee * 8e-9, c.network_guarantee > 0);
  add("network_limit_gbit_s", c.network_limit * 8e-9, c.network_limit > 0);
  add("codec", c.codec, !c.codec.empty());
  add("sync", c.sync, !c.sync.empty());
  return out;
}

}  // namespace

std::string trace_yaml(const Trace& trace, const Cluster& cluster) {
  std::string out =
      fmt::format("# {} jobs; times in seconds since the first\njobs:\n", trace.jobs.size());
  for (const TraceJob& traced : trace.jobs) {
    const Submission& job = *traced.submission;
    ordered_json row = {{"name", job.name}, {"submit_s", job.submit}, {"work", traced.truth.work}};
    if (job.tenant < trace.tenants.size()) row["tenant"] = trace.tenants[job.tenant];
    if (job.kind == WorkloadKind::kTask) row["kind"] = "task";
    if (job.priority != 0) row["priority"] = job.priority;
    if (job.deadline < kNever) row["deadline_s"] = job.deadline;
    if (!std::isnan(traced.truth.user_estimate)) row["estimate_s"] = traced.truth.user_estimate;
    if (job.declared_work > 0) row["declared_work"] = job.declared_work;
    if (!job.preemptible) row["preemptible"] = false;
    if (!job.spot_ok) row["spot_ok"] = false;
    row["elastic"] = job.elastic;
    row["menu"] = ordered_json::array();
    for (const Configuration& c : job.menu->configurations) {
      row["menu"].push_back(configuration_of(c, cluster));
    }
    out += "  - " + row.dump(-1, ' ', true, ordered_json::error_handler_t::replace) + "\n";
  }
  return out;
}

}  // namespace weft
