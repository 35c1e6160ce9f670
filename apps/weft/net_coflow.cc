// `weft net coflow`: coflow schedulers on one switch, beside what no schedule can beat.
#include <fmt/core.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/statistics.h"
#include "base/stopwatch.h"
#include "base/table.h"
#include "fabric/coflow/coflow_generator.h"
#include "fabric/coflow/coflowsim.h"
#include "fabric/coflow/engine.h"
#include "fabric/coflow/lower_bound.h"
#include "net_command.h"

namespace weft {
namespace {

struct CoflowArguments {
  std::string trace, per_coflow;
  std::vector<std::string> policies{"fair", "sebf-remaining", "sincronia", "weft"};
  double load_scale = 1, port_mib_per_s = 128, deadline_slack = 0;
  std::uint64_t seed = 1;
  bool compat = false, json = false, list_policies = false;
};

struct PolicyResult {
  std::string policy;
  CoflowRun run;
  Summary time;
  double mean_slowdown = 0, cpu_s = 0;
  std::size_t refused = 0, met = 0;
};

Result<CoflowTrace> load(const CoflowArguments& a) {
  const double bytes_per_s = a.port_mib_per_s * kMiB;
  Result<CoflowTrace> trace = CoflowTrace{};
  if (names_coflow_generator(a.trace)) {
    const auto spec = parse_coflow_generator(a.trace);
    if (!spec.ok()) return spec.error();
    trace = generate_coflows(*spec, bytes_per_s);
  } else {
    trace = read_coflow_trace(a.trace);
  }
  if (!trace.ok()) return trace;
  stretch_arrivals(*trace, a.load_scale);
  if (a.deadline_slack > 0) assign_deadlines(*trace, bytes_per_s, a.deadline_slack, a.seed);
  return trace;
}

void summarise(const CoflowTrace& trace, PolicyResult& result) {
  std::vector<double> times;
  for (std::size_t k = 0; k < result.run.coflows.size(); ++k) {
    const CoflowRecord& record = result.run.coflows[k];
    if (record.refused) {
      ++result.refused;
      continue;
    }
    times.push_back(record.time());
    result.mean_slowdown += record.time() / record.isolated;
    if (record.time() <= trace.coflows[k].deadline * (1 + 1e-9)) ++result.met;
  }
  if (!times.empty()) result.mean_slowdown /= static_cast<double>(times.size());
  result.time = summarize(times);
}

Result<std::vector<PolicyResult>> run_policies(const CoflowArguments& a, const CoflowTrace& trace) {
  std::vector<const CoflowPolicy*> policies;
  for (const std::string& name : a.policies) {
    const auto policy = find_coflow_policy(name);
    if (!policy.ok()) return policy.error();
    if (a.compat && !has_coflowsim_rules(name)) {
      return Error{ErrorKind::kUnsupported,
                   fmt::format("coflowsim's rules for '{}' are not built", name),
                   "with --coflowsim-compat: " + coflowsim_policies()};
    }
    policies.push_back(*policy);
  }
  std::vector<PolicyResult> results;
  CoflowOptions options;
  options.bytes_per_s = a.port_mib_per_s * kMiB;
  for (const CoflowPolicy* policy : policies) {
    PolicyResult result;
    result.policy = policy->name;
    const double before = thread_cpu_seconds();
    result.run =
        a.compat ? run_like_coflowsim(trace, policy->name) : run_coflows(trace, *policy, options);
    result.cpu_s = thread_cpu_seconds() - before;
    summarise(trace, result);
    results.push_back(std::move(result));
  }
  return results;
}

std::string model_text(const CoflowArguments& a) {
  if (a.compat) {
    return "coflowsim's rules: 125 MiB/s ports, 8 ms steps, arrivals at the start of their 10.24 s "
           "epoch, rates set when coflows come or end";
  }
  return fmt::format(
      "one switch without contention inside, {} MiB/s up and down at every port, "
      "fluid flows, no latency; every arrival and every flow's end exact",
      a.port_mib_per_s);
}

nlohmann::json coflow_run_json(const PolicyResult& r, Seconds bound, bool compat) {
  nlohmann::json run = {{"policy", r.policy},
                        {"mean_cct_s", r.time.mean},
                        {"p50_cct_s", r.time.p50},
                        {"p95_cct_s", r.time.p95},
                        {"p99_cct_s", r.time.p99},
                        {"max_cct_s", r.time.max},
                        {"mean_slowdown", r.mean_slowdown},
                        {"refused", r.refused},
                        {"deadlines_met", r.met},
                        {"events", r.run.events},
                        {"cpu_s", r.cpu_s}};
  if (!compat) run["lower_bound_s"] = bound;
  return run;
}

std::string per_coflow_csv(const CoflowTrace& trace, const std::vector<PolicyResult>& results) {
  std::string text = "policy,coflow,arrival_s,end_s,cct_s,isolated_s,refused\n";
  for (const PolicyResult& result : results) {
    for (std::size_t k = 0; k < trace.coflows.size(); ++k) {
      const CoflowRecord& c = result.run.coflows[k];
      text += fmt::format("{},{},{},{},{},{},{}\n", result.policy, trace.coflows[k].name, c.arrival,
                          c.end, c.time(), c.isolated, c.refused ? 1 : 0);
    }
  }
  return text;
}

std::string coflow_verdict(const std::vector<PolicyResult>& results, Seconds bound, bool compat) {
  const PolicyResult* best = &results.front();
  const PolicyResult* worst = &results.front();
  for (const PolicyResult& r : results) {
    if (r.time.mean < best->time.mean) best = &r;
    if (r.time.mean > worst->time.mean) worst = &r;
  }
  std::string text = fmt::format("{}: mean CCT {} s", best->policy, three_digits(best->time.mean));
  if (best != worst) {
    text += fmt::format(", {:.2f}x that of {}", best->time.mean / worst->time.mean, worst->policy);
  }
  if (!compat && best->refused == 0) {
    text += fmt::format("; no schedule has less than {:.2f} s ({:.1f} % below)", bound,
                        100 * (1 - bound / best->time.mean));
  }
  return text;
}

void print_coflow_table(const CoflowArguments& a, const CoflowTrace& trace,
                        const std::vector<PolicyResult>& results, Seconds bound) {
  std::vector<std::string> headings = {"<policy", "mean CCT s", "vs first", "bound s", "p50 s",
                                       "p95 s",   "p99 s",      "slowdown", "CPU s"};
  const bool deadlines = a.deadline_slack > 0;
  if (deadlines) headings.insert(headings.end(), {"refused", "met"});
  Table table(headings);
  const double first = results.front().time.mean;
  for (const PolicyResult& r : results) {
    std::vector<std::string> cells = {
        r.policy,
        fmt::format("{:.2f}", r.time.mean),
        fmt::format("{:.2f}x", r.time.mean / first),
        a.compat || r.refused > 0 ? "-" : fmt::format("{:.2f}", bound),
        three_digits(r.time.p50),
        three_digits(r.time.p95),
        three_digits(r.time.p99),
        three_digits(r.mean_slowdown),
        three_digits(r.cpu_s)};
    if (deadlines) {
      cells.push_back(std::to_string(r.refused));
      cells.push_back(std::to_string(r.met));
    }
    table.row(cells);
  }
  std::fputs(fmt::format("{} coflows of {} on {} ports\nmodel: {}\n\n{}\n{}\n",
                         trace.coflows.size(), trace.path, trace.ports, model_text(a), table.text(),
                         coflow_verdict(results, bound, a.compat))
                 .c_str(),
             stdout);
}

int list_coflow_policies() {
  Table table({"<policy", "<rule", "<source"});
  for (const CoflowPolicy& p : coflow_policies()) table.row({p.name, p.summary, p.source});
  std::fputs(table.text().c_str(), stdout);
  return kExitDone;
}

int run_coflow(const CoflowArguments& a) {
  if (a.list_policies) return list_coflow_policies();
  if (a.trace.empty()) {
    return report_error("net coflow",
                        {ErrorKind::kInvalidInput, "--trace is needed",
                         "weft net coflow --trace gen:ports=50,coflows=200 --policy fair,weft"});
  }
  const auto trace = load(a);
  if (!trace.ok()) return report_error("net coflow", trace.error());
  const auto results = run_policies(a, *trace);
  if (!results.ok()) return report_error("net coflow", results.error());
  const Seconds bound = a.compat ? 0 : mean_time_bound(*trace, a.port_mib_per_s * kMiB);
  if (!a.per_coflow.empty()) {
    const Status written = write_file_atomically(a.per_coflow, per_coflow_csv(*trace, *results));
    if (!written.ok()) return report_error("net coflow", written.error());
  }
  if (!a.json) {
    print_coflow_table(a, *trace, *results, bound);
    return kExitDone;
  }
  nlohmann::json json = {{"schema", 1},
                         {"trace", trace->path},
                         {"coflows", trace->coflows.size()},
                         {"ports", trace->ports},
                         {"load_scale", a.load_scale},
                         {"model", model_text(a)},
                         {"runs", nlohmann::json::array()}};
  for (const PolicyResult& r : *results)
    json["runs"].push_back(coflow_run_json(r, bound, a.compat));
  std::fputs((json.dump(2) + "\n").c_str(), stdout);
  return kExitDone;
}

}  // namespace

Verb add_net_coflow(CLI::App& net) {
  const auto a = std::make_shared<CoflowArguments>();  // shared: the callback outlives this call
  CLI::App* coflow = net.add_subcommand("coflow", "coflow schedulers on one switch");
  coflow->add_option("--trace", a->trace,
                     "coflow benchmark file, or gen:ports=N,coflows=N,load=L (docs/coflows.md)");
  coflow->add_option("--policy", a->policies, "policies by name, comma separated")->delimiter(',');
  coflow->add_option("--load-scale", a->load_scale, "times between arrivals, times this")
      ->check(CLI::Range(1e-6, 1e6));
  coflow->add_option("--port-mib", a->port_mib_per_s, "MiB/s of every port, up and down")
      ->check(CLI::Range(1e-3, 1e9));
  coflow
      ->add_option("--deadline-slack", a->deadline_slack,
                   "deadlines of time alone times 1 to 1 + this (0: none)")
      ->check(CLI::Range(0.0, 1e6));
  coflow->add_option("--seed", a->seed, "of the deadlines");
  coflow->add_option("--per-coflow", a->per_coflow, "write one CSV row per policy and coflow");
  coflow->add_flag("--coflowsim-compat", a->compat, "coflowsim's coarse rules, to compare lines");
  coflow->add_flag("--list-policies", a->list_policies, "print every policy with its source");
  coflow->add_flag("--json", a->json, "print JSON");
  coflow->footer("example: weft net coflow --trace FB2010-1Hr-150-0.txt --policy fair,sebf,weft");
  return {coflow, [a] { return run_coflow(*a); }};
}

}  // namespace weft
