#include "sim_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>

namespace weft {
namespace {

double mean_jct(const RunResult& run) { return run.jct_s.mean; }

double contended_share(const RunResult& r) {
  return r.jobs > 0 ? static_cast<double>(r.contended_jobs) / static_cast<double>(r.jobs) : 0;
}

std::string with_spread(const RunGroup& group, double (*value)(const RunResult&)) {
  const double middle = group.mean(value);
  // Counts are shown whole.
  const bool whole = middle == std::floor(middle) && std::abs(middle) < 1e9;
  const std::string mean = whole ? fmt::format("{:.0f}", middle) : three_digits(middle);
  if (group.runs.size() < 2) return mean;
  return fmt::format("{} ± {}", mean, three_digits(group.deviation(value)));
}

nlohmann::ordered_json sim_run_json(const RunResult& run, double load) {
  nlohmann::ordered_json j;
  j["policy"] = run.policy;
  j["cluster"] = run.cluster;
  j["place"] = run.place;
  j["load"] = load;
  j["seed"] = run.seed;
  j["estimates"] = run.estimates;
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
    j["contended_job_share"] = contended_share(run);
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

namespace {

struct Column {
  const char* heading;
  double (*value)(const RunResult&);
  bool (*wanted)(const RunResult&) = nullptr;  // shown if any run wants it; null: always
};

constexpr auto kNetworked = [](const RunResult& r) { return r.networked; };
constexpr Column kColumns[] = {
    {"p50 JCT s", [](const RunResult& r) { return r.jct_s.p50; }},
    {"p99 JCT s", [](const RunResult& r) { return r.jct_s.p99; }},
    {"mean queue s", [](const RunResult& r) { return r.queue_s.mean; }},
    {"makespan s", [](const RunResult& r) { return r.makespan_s; }},
    {"util", [](const RunResult& r) { return r.utilization; }},
    {"worst rho", [](const RunResult& r) { return r.rho.max; }},
    {"restarts", [](const RunResult& r) { return static_cast<double>(r.restarts); }},
    {"misses", [](const RunResult& r) { return static_cast<double>(r.deadline_misses); }},
    {"rejected", [](const RunResult& r) { return static_cast<double>(r.rejected); },
     [](const RunResult& r) { return r.rejected > 0; }},
    {"cost", [](const RunResult& r) { return r.cost; }},
    {"kWh", [](const RunResult& r) { return r.energy_kwh; }},
    {"contended", contended_share, kNetworked},
    {"mean link use", [](const RunResult& r) { return r.mean_link_use; }, kNetworked},
    {"busiest link", [](const RunResult& r) { return r.busiest_link_use; }, kNetworked},
    {"decision p99 ms", [](const RunResult& r) { return 1e3 * r.decision_p99_s; }},
};

std::vector<Column> columns_for(const std::vector<RunGroup>& groups) {
  std::vector<Column> shown;
  for (const Column& column : kColumns) {
    bool wanted = column.wanted == nullptr;
    for (const RunGroup& group : groups) {
      for (const RunResult* run : group.runs) wanted = wanted || column.wanted(*run);
    }
    if (wanted) shown.push_back(column);
  }
  return shown;
}

}  // namespace

Table comparison_table(const std::vector<RunGroup>& groups) {
  const std::vector<Column> columns = columns_for(groups);
  std::vector<std::string> headings{"<policy", "mean JCT s", "vs first"};
  for (const Column& column : columns) headings.emplace_back(column.heading);
  Table table(std::move(headings));
  const double base = groups.front().mean(mean_jct);
  size_t best = 0;
  for (size_t i = 1; i < groups.size(); ++i) {
    if (groups[i].mean(mean_jct) < groups[best].mean(mean_jct)) best = i;
  }
  for (size_t i = 0; i < groups.size(); ++i) {
    const RunGroup& g = groups[i];
    std::vector<std::string> row{g.label + (groups.size() > 1 && i == best ? " ✓" : ""),
                                 with_spread(g, mean_jct),
                                 base > 0 ? fmt::format("{:.2f}x", g.mean(mean_jct) / base) : "-"};
    for (const Column& column : columns) row.push_back(with_spread(g, column.value));
    table.row(std::move(row));
  }
  return table;
}

std::string verdict(const std::vector<RunGroup>& groups) {
  const RunGroup& first = groups.front();
  const RunGroup* best = &first;
  for (const RunGroup& group : groups) {
    if (group.mean(mean_jct) < best->mean(mean_jct)) best = &group;
  }
  const std::string seeds = first.runs.size() > 1
                                ? fmt::format(" (± {}, {} seeds)",
                                              three_digits(best->deviation(mean_jct) /
                                                           std::max(1e-9, first.mean(mean_jct))),
                                              first.runs.size())
                                : "";
  if (groups.size() == 1) {
    return fmt::format("{}: mean JCT {} s{}", first.label, three_digits(first.mean(mean_jct)),
                       seeds);
  }
  if (best == &first) return fmt::format("nothing beats {} on mean JCT{}", first.label, seeds);
  return fmt::format("{} beats {}: mean JCT {:.2f}x{}", best->label, first.label,
                     best->mean(mean_jct) / first.mean(mean_jct), seeds);
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
