#include "sim_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/table.h"

namespace weft {
namespace {

nlohmann::ordered_json sim_run_json(const RunResult& run, double load) {
  nlohmann::ordered_json j;
  j["policy"] = run.policy;
  j["cluster"] = run.cluster;
  j["place"] = run.place;
  j["load"] = load;
  j["seed"] = run.seed;
  j["estimates"] = run.estimates;
  j["uses_estimates"] = run.uses_estimates;
  j["jobs"] = run.jobs;
  j["rejected"] = run.rejected;
  const auto summary = [&](const std::string& name, const Summary& s) {
    j["mean_" + name] = s.mean;
    j["p50_" + name] = s.p50;
    j["p95_" + name] = s.p95;
    j["p99_" + name] = s.p99;
    j["max_" + name] = s.max;
  };
  summary("jct_s", run.jct_s);
  summary("queue_s", run.queue_s);
  j["makespan_s"] = run.makespan_s;
  j["utilization"] = run.utilization;
  j["fragmentation"] = run.fragmentation;
  j["worst_rho"] = run.rho.max;
  j["mean_rho"] = run.rho.mean;
  j["deadlines"] = run.with_deadline;
  j["deadline_misses"] = run.deadline_misses;
  j["gpu_hours"] = run.gpu_hours;
  j["lost_gpu_hours"] = run.lost_gpu_hours;
  j["cost"] = run.cost;
  j["energy_kwh"] = run.energy_kwh;
  j["peak_kw"] = run.peak_kw;
  j["restarts"] = run.restarts;
  j["served"] = run.served;
  if (run.networked) {
    j["spanning_jobs"] = run.spanning_jobs;
    j["contended_jobs"] = run.contended_jobs;
    j["contended_job_share"] = contended_part(run);
    j["mean_link_use"] = run.mean_link_use;
    j["busiest_link_use"] = run.busiest_link_use;
  }
  j["decisions"] = run.decisions;
  j["decision_p50_s"] = run.decision_p50_s;
  j["decision_p99_s"] = run.decision_p99_s;
  j["decision_max_s"] = run.decision_max_s;
  j["events"] = run.events;
  j["cpu_s"] = run.cpu_s;
  j["parse_s"] = run.parse_s;
  j["peak_rss_bytes"] = run.peak_rss_bytes;
  return j;
}

}  // namespace

double contended_part(const RunResult& r) {
  return r.jobs > 0 ? static_cast<double>(r.contended_jobs) / static_cast<double>(r.jobs) : 0;
}

double RunGroup::mean(double (*value)(const RunResult&)) const {
  double sum = 0;
  for (const RunResult* run : runs) sum += value(*run);
  return sum / static_cast<double>(runs.size());
}

double RunGroup::deviation(double (*value)(const RunResult&)) const {
  if (runs.size() < 2) return 0;
  const double middle = mean(value);
  double squares = 0;
  for (const RunResult* run : runs) squares += std::pow(value(*run) - middle, 2);
  return std::sqrt(squares / static_cast<double>(runs.size() - 1));
}

std::vector<RunGroup> group_by_seed(const std::vector<RunResult>& runs,
                                    const std::vector<double>& loads) {
  bool clusters = false, several_loads = false;
  for (size_t i = 0; i < runs.size(); ++i) {
    clusters |= runs[i].cluster != runs[0].cluster;
    several_loads |= loads[i] != loads[0];
  }
  std::vector<RunGroup> groups;
  for (size_t i = 0; i < runs.size(); ++i) {
    std::string label = runs[i].policy;
    if (clusters) label += " @ " + runs[i].cluster;
    if (several_loads) label += fmt::format(" load {}", loads[i]);
    if (groups.empty() || groups.back().label != label) groups.push_back({label, loads[i], {}});
    groups.back().runs.push_back(&runs[i]);
  }
  return groups;
}

std::string runs_json(const std::vector<RunResult>& runs, const std::vector<double>& loads,
                      const Trace& trace) {
  nlohmann::ordered_json j;
  j["schema"] = 1;
  j["trace"] = trace.path;
  j["format"] = trace.format;
  j["runs"] = nlohmann::ordered_json::array();
  for (size_t i = 0; i < runs.size(); ++i) j["runs"].push_back(sim_run_json(runs[i], loads[i]));
  return j.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::string job_name(const Trace& trace, std::uint32_t replicate, size_t index) {
  const std::string& name = trace.jobs[index / replicate].submission->name;
  return index % replicate == 0 ? name : fmt::format("{}#{}", name, index % replicate);
}

std::string jobs_csv(const std::vector<RunResult>& runs, const std::vector<double>& loads,
                     const Trace& trace, std::uint32_t replicate) {
  std::string out =
      "policy,cluster,load,seed,job,tenant,devices,submit_s,start_s,end_s,jct_s,queue_s,run_s,"
      "restarts,rho,rejected,missed_deadline\n";
  // Empty: it never came to that.
  const auto seconds = [](Seconds at) { return at < kNever ? fmt::format("{}", at) : ""; };
  for (size_t k = 0; k < runs.size(); ++k) {
    const RunResult& run = runs[k];
    const std::string of_run =
        fmt::format("{},{},{},{}", csv_cell(run.policy), csv_cell(run.cluster), loads[k], run.seed);
    for (size_t i = 0; i < run.records.size(); ++i) {
      const JobRecord& r = run.records[i];
      const Submission& spec = *trace.jobs[i / replicate].submission;
      fmt::format_to(std::back_inserter(out), "{},{},{},{},{},{},{},{},{},{},{},{:.4g},{},{}\n",
                     of_run, csv_cell(job_name(trace, replicate, i)),
                     spec.tenant < trace.tenants.size() ? csv_cell(trace.tenants[spec.tenant]) : "",
                     spec.requested().devices, r.submit, seconds(r.first_start), seconds(r.end),
                     seconds(r.end - r.submit), seconds(r.end - r.submit - r.run_s), r.run_s,
                     r.restarts, r.rho, r.rejected ? 1 : 0, r.missed_deadline ? 1 : 0);
    }
  }
  return out;
}

}  // namespace weft
