// `weft sim`: reads the inputs, runs policies × clusters × loads × seeds, shows the results.
#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <memory>
#include <set>
#include <thread>

#include "base/files.h"
#include "base/progress.h"
#include "base/stopwatch.h"
#include "base/wrap.h"
#include "codec_menus.h"
#include "control/decision_log.h"
#include "fabric/job_network.h"
#include "model/generator.h"
#include "model/traffic.h"
#include "policy/composition.h"
#include "report.h"
#include "sim/engine.h"
#include "sim/estimate.h"
#include "sim/outage_reader.h"
#include "sim_options.h"
#include "sim_output.h"
#include "sim_table.h"
#include "trace_source.h"
#include "verb.h"

namespace weft {
namespace {

// A cluster with the trace read for it: menus name the cluster's device types.
struct Setting {
  Cluster cluster;
  Trace trace;
  std::shared_ptr<const Topology> network;  // null: rates come from the trace
  std::vector<Outage> outages;              // recorded; nodes are those of the cluster
  double parse_s = 0;
  double load = 1;
  std::uint64_t seed = 1;
};

struct ComparedPolicy {
  std::unique_ptr<Policy> policy;
  std::string place;
  bool uses_estimates = false;
};

struct PolicyRun {
  const Setting* setting = nullptr;
  const ComparedPolicy* policy = nullptr;
  std::uint64_t seed = 1;
  std::unique_ptr<DecisionLog> log;
  RunResult result;
  std::unique_ptr<Error> error;
};

struct SimPlan {
  std::vector<std::unique_ptr<Setting>> settings;
  std::vector<ComparedPolicy> policies;
  SimOptions options;
};

// Requires: one of the words that --bandwidth takes.
BandwidthSharing bandwidth_sharing(const std::string& word) {
  return word == "guarantees"  ? BandwidthSharing::kGuarantees
         : word == "intensity" ? BandwidthSharing::kIntensity
                               : BandwidthSharing::kFair;
}

Status check_arguments(const SimArguments& a) {
  if (a.clusters.empty() || a.trace.empty() || a.policies.empty()) {
    return Error{ErrorKind::kInvalidInput, "--cluster, --trace and --policy are needed",
                 "weft sim --cluster 16x8 --trace jobs.csv --policy fifo,srtf"};
  }
  if (std::set<double>(a.loads.begin(), a.loads.end()).size() < a.loads.size()) {
    return Error{ErrorKind::kInvalidInput, "--load has a value twice", ""};
  }
  const size_t runs = a.policies.size() * a.clusters.size() * a.loads.size();
  if (!a.decisions.empty() && runs * static_cast<size_t>(a.seeds) > 1) {
    return Error{ErrorKind::kInvalidInput,
                 fmt::format("--decisions writes the log of one run; this asks for {}",
                             runs * static_cast<size_t>(a.seeds)),
                 "give one policy, one cluster, one load and one seed"};
  }
  if (names_generator(a.trace) && a.seeds > 1 && !(a.report.empty() && a.jobs_out.empty())) {
    return Error{
        ErrorKind::kInvalidInput,
        fmt::format("--report and --jobs-out list the jobs of one trace; {} seeds of {} are "
                    "{} traces",
                    a.seeds, a.trace, a.seeds),
        "leave --seeds out"};
  }
  if ((a.rates == "network") == a.network.empty()) {
    return Error{ErrorKind::kInvalidInput, "--rates network and --network go together",
                 "for instance --rates network --network clos:radix=16,bandwidth=100Gb/s"};
  }
  if (!a.explain.empty() && (runs > 1 || a.seeds > 1)) {
    return Error{ErrorKind::kInvalidInput,
                 "explain takes one policy, one cluster, one load and one seed", ""};
  }
  return {};
}

// Before the first run: a run may take hours, and of several files none is written then.
Status check_outputs(const SimArguments& a) {
  std::vector<std::string> paths;
  for (const std::string* path : {&a.decisions, &a.jobs_out, &a.report}) {
    if (path->empty()) continue;
    if (std::find(paths.begin(), paths.end(), *path) != paths.end()) {
      return Error{ErrorKind::kInvalidInput,
                   fmt::format("two of --decisions, --jobs-out and --report name {}", *path),
                   "give each a file of its own"};
    }
    if (const Status s = check_writable(*path); !s.ok()) return s;
    paths.push_back(*path);
  }
  return {};
}

// Rows of equal label would be taken for seeds of one.
Error given_twice(const char* what, const std::string& name) {
  return {ErrorKind::kInvalidInput, fmt::format("{} '{}' is given twice", what, name),
          "runs to be compared need different names"};
}

Status make_policies(const SimArguments& a, SimPlan& plan) {
  for (const std::string& name : a.policies) {
    auto composition = find_policy(name);
    if (!composition.ok()) return composition.error();
    if (!a.place.empty()) composition->place = {a.place, {}};
    auto policy = assemble(*composition);
    if (!policy.ok()) return policy.error();
    for (const ComparedPolicy& other : plan.policies) {
      if (other.policy->name() == (*policy)->name()) {
        return given_twice("policy", other.policy->name());
      }
    }
    plan.policies.push_back(
        {std::move(policy).value(), composition->place.name, uses_estimates(*composition)});
  }
  return {};
}

// Traces and traffic may be drawn anew for each seed.
bool draws_jobs(const SimArguments& a) {
  return names_generator(a.trace) || a.rates == "network" || !a.codecs.empty();
}

// The network under the cluster's nodes, and what its jobs send.
Status add_network(const SimArguments& a, Setting& setting) {
  if (a.rates != "network") return {};
  const auto nodes = static_cast<std::uint32_t>(setting.cluster.nodes.size());
  auto topology = read_topology(a.network, nodes);
  if (!topology.ok()) return topology.error();
  if (topology->endpoints < nodes) {
    return Error{ErrorKind::kInvalidInput,
                 fmt::format("--network {} has {} endpoints; the cluster {} has {} nodes",
                             a.network, topology->endpoints, setting.cluster.text, nodes),
                 "leave the number of hosts out to get one for each node"};
  }
  adopt_leaves(*topology, setting.cluster);
  setting.network = std::make_shared<const Topology>(std::move(topology).value());
  draw_traffic(setting.trace, setting.seed);
  return {};
}

Status add_codecs(const SimArguments& a, Setting& setting) {
  if (a.codecs.empty()) return {};
  const auto links = runtime::parse_links(a.codecs);
  if (!links.ok()) return links.error();
  draw_traffic(setting.trace, setting.seed);
  return offer_codecs(setting.trace, setting.cluster, *links);
}

// One setting for each cluster and load; where jobs are drawn, also one for each seed.
Status make_settings(const SimArguments& a, SimPlan& plan) {
  const int draws = draws_jobs(a) ? a.seeds : 1;
  for (const std::string& text : a.clusters) {
    auto cluster = read_cluster(text);
    if (!cluster.ok()) return cluster.error();
    for (const auto& other : plan.settings) {
      if (other->cluster.text == cluster->text) return given_twice("cluster", cluster->text);
    }
    std::vector<Outage> outages;
    if (!a.faults.empty()) {
      auto read = read_outages(a.faults, *cluster);
      if (!read.ok()) return read.error();
      outages = std::move(read).value();
    }
    for (double load : a.loads) {
      for (int draw = 0; draw < draws; ++draw) {
        auto setting = std::make_unique<Setting>();
        setting->cluster = *cluster;
        setting->seed = a.seed + static_cast<std::uint64_t>(draw);
        const double before = thread_cpu_seconds();
        auto trace =
            load_trace(a.trace, setting->cluster, {a.format, a.profiles}, load, setting->seed);
        if (!trace.ok()) return trace.error();
        setting->trace = std::move(trace).value();
        setting->parse_s = thread_cpu_seconds() - before;
        if (const Status s = add_network(a, *setting); !s.ok()) return s;
        if (const Status s = add_codecs(a, *setting); !s.ok()) return s;
        setting->outages = outages;
        setting->load = load;
        plan.settings.push_back(std::move(setting));
      }
    }
  }
  return {};
}

void execute(const SimArguments& a, const SimPlan& plan, PolicyRun& run, bool show_progress) {
  ProgressLine line;
  SimRequest request;
  request.cluster = &run.setting->cluster;
  request.trace = &run.setting->trace;
  request.policy = run.policy->policy.get();
  request.options = plan.options;
  request.options.seed = run.seed;
  request.options.faults.recorded = run.setting->outages;
  request.options.record_timeline = !a.report.empty();
  request.journal = run.log.get();
  request.network = run.setting->network;
  if (show_progress) {
    request.progress = [&](Seconds now, long done, long total) {
      line.show(static_cast<double>(done), static_cast<double>(total),
                fmt::format("{}: {} of {} jobs, {:.1f} simulated days", run.policy->policy->name(),
                            done, total, now / 86400));
    };
  }
  auto result = simulate(request);
  if (!result.ok()) {
    run.error = std::make_unique<Error>(result.error());
    return;
  }
  run.result = std::move(result).value();
  run.result.place = run.policy->place;
  run.result.uses_estimates = run.policy->uses_estimates;
  run.result.parse_s = run.setting->parse_s;
  run.result.cpu_s += run.setting->parse_s;
}

void execute_all(const SimArguments& a, const SimPlan& plan, std::vector<PolicyRun>& runs) {
  const auto cores = std::max(1u, std::thread::hardware_concurrency());
  const size_t wanted = a.threads > 0 ? static_cast<size_t>(a.threads) : cores;
  const size_t workers = std::min(wanted, runs.size());
  std::atomic<size_t> next{0};
  const auto work = [&] {
    for (size_t i = next++; i < runs.size(); i = next++) execute(a, plan, runs[i], workers == 1);
  };
  std::vector<std::thread> threads;
  for (size_t i = 1; i < workers; ++i) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
}

std::vector<PolicyRun> list_runs(const SimArguments& a, const SimPlan& plan) {
  std::vector<PolicyRun> runs;
  const bool generated = draws_jobs(a);
  for (size_t s = 0; s < plan.settings.size(); s += static_cast<size_t>(generated ? a.seeds : 1)) {
    for (size_t p = 0; p < plan.policies.size(); ++p) {
      for (int draw = 0; draw < a.seeds; ++draw) {
        PolicyRun& run = runs.emplace_back();
        run.setting = plan.settings[generated ? s + static_cast<size_t>(draw) : s].get();
        run.policy = &plan.policies[p];
        run.seed = a.seed + static_cast<std::uint64_t>(draw);
        if (!a.decisions.empty()) run.log = std::make_unique<DecisionLog>();
      }
    }
  }
  return runs;
}

int show(const SimArguments& a, const SimPlan& plan, std::vector<PolicyRun>& runs) {
  std::vector<RunResult> results;
  std::vector<double> loads;
  for (PolicyRun& run : runs) {
    if (run.error != nullptr) return report_error("sim", *run.error);
    results.push_back(std::move(run.result));
    loads.push_back(run.setting->load);
  }
  const Setting& first = *plan.settings.front();
  const auto write = [&](const std::string& path, const std::string& text) {
    return path.empty() ? Status{} : write_file_atomically(path, text);
  };
  Status written = write(a.decisions, a.decisions.empty() ? "" : runs.front().log->text());
  if (written.ok() && !a.jobs_out.empty()) {
    written = write(a.jobs_out, jobs_csv(results, loads, first.trace, plan.options.replicate));
  }
  if (written.ok() && !a.report.empty()) {
    ReportInput input;
    input.cluster = &first.cluster;
    input.trace = &first.trace;
    input.replicate = plan.options.replicate;
    for (size_t i = 0; i < results.size(); ++i) {
      input.runs.push_back(&results[i]);
      if (a.loads.size() > 1) {
        input.labels.push_back(fmt::format("{} load {}", results[i].policy, loads[i]));
      }
    }
    written = write(a.report, report_html(input));
  }
  if (!written.ok()) return report_error("sim", written.error());
  const std::vector<RunGroup> groups = group_by_seed(results, loads);
  if (a.json) {
    std::fputs(runs_json(results, loads, first.trace).c_str(), stdout);
    return kExitDone;
  }
  if (a.csv || a.markdown) {
    const Table table = comparison_table(groups);
    std::fputs((a.csv ? table.csv() : table.markdown()).c_str(), stdout);
    return kExitDone;
  }
  const std::string about =
      fmt::format("{} jobs of {} ({}) on {}: {} devices", results.front().jobs, first.trace.path,
                  first.trace.format, first.cluster.text, first.cluster.device_count());
  std::fputs(fmt::format("{}\n\n{}", wrapped(about, kPageColumns), comparison_page(groups)).c_str(),
             stdout);
  return kExitDone;
}

int explain(const SimArguments& a, SimPlan& plan) {
  const Setting& setting = *plan.settings.front();
  const std::vector<TraceJob>& jobs = setting.trace.jobs;
  const auto job = std::find_if(jobs.begin(), jobs.end(), [&](const TraceJob& candidate) {
    return candidate.submission->name == a.explain;
  });
  if (job == jobs.end()) {
    return report_error(
        "sim",
        {ErrorKind::kNotFound,
         fmt::format("{} has no job named '{}'", setting.trace.path, a.explain),
         jobs.empty() ? "" : fmt::format("the first job is '{}'", jobs.front().submission->name)});
  }
  const auto index = static_cast<size_t>(job - jobs.begin()) * plan.options.replicate;
  plan.options.watch = static_cast<JobId>(index);
  ReasonLog log;
  SimRequest request;
  request.cluster = &setting.cluster;
  request.trace = &setting.trace;
  request.policy = plan.policies.front().policy.get();
  request.options = plan.options;
  request.journal = &log;
  request.network = setting.network;
  request.options.seed = a.seed;
  request.options.faults.recorded = setting.outages;
  auto result = simulate(request);
  if (!result.ok()) return report_error("sim", result.error());
  const std::string text = explanation(a.explain, *job->submission, result->records[index],
                                       log.reasons(), result->policy);
  std::fputs(wrapped(text, kPageColumns).c_str(), stdout);
  return kExitDone;
}

int list_sim_policies() {
  Table table({"<policy", "<rule, and its source"});
  for (const Composition& c : known_policies()) {
    table.row({c.name, fmt::format("{} [{}]", c.summary, c.source)});
  }
  std::fputs(table.text(kPageColumns).c_str(), stdout);
  return kExitDone;
}

}  // namespace

int run_sim(const SimArguments& a) {
  if (a.list_policies) return list_sim_policies();
  SimPlan plan;
  plan.options = a.options;
  if (const Status s = check_arguments(a); !s.ok()) return report_error("sim", s.error());
  if (const Status s = check_outputs(a); !s.ok()) return report_error("sim", s.error());
  const auto estimates = parse_estimates(a.estimates.empty() ? "oracle" : a.estimates);
  if (!estimates.ok()) return report_error("sim", estimates.error());
  plan.options.bandwidth = bandwidth_sharing(a.bandwidth);
  if (const Status s = make_policies(a, plan); !s.ok()) return report_error("sim", s.error());
  if (const Status s = make_settings(a, plan); !s.ok()) return report_error("sim", s.error());
  plan.options.estimates =
      a.estimates.empty() ? default_estimates(plan.settings.front()->trace) : *estimates;
  if (!a.explain.empty()) return explain(a, plan);
  std::vector<PolicyRun> runs = list_runs(a, plan);
  execute_all(a, plan, runs);
  return show(a, plan, runs);
}

}  // namespace weft
