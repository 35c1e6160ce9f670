#include "forecast_commands.h"

#include <fmt/core.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/wrap.h"
#include "daemon_client.h"
#include "demand.h"
#include "job_page.h"
#include "live/daemon/daemon.h"
#include "live/daemon/recorded.h"
#include "live/job/job_text.h"
#include "sim/engine.h"
#include "sim_output.h"
#include "sim_table.h"

namespace weft {
namespace {

using Json = nlohmann::json;

struct ForecastArguments {
  std::string store, job, policy, cluster, since, what, file;
  bool json = false, dry_run = false, users = false;
};

// A file's whole text, or the name as it was given.
Result<std::string> policy_text(const std::string& given) {
  constexpr std::uint64_t kMostBytes = 1 << 20;
  if (!is_file(given)) return given;
  return read_file(given, kMostBytes);
}

std::string time_in_words(const Json& at, const Json& now) {
  if (!at.is_number()) return "not known";
  const double left = at.get<double>() - now.get<double>();
  if (left <= 0) return "now";
  return "in " + time_words(left);
}

int run_explain(const ForecastArguments& a) {
  DaemonClient client(a.store);
  const auto answer = client.ask("GET", "/v1/jobs/" + in_path(a.job) + "/explain");
  if (!answer.ok()) {
    const bool unknown = answer.error().kind == ErrorKind::kNotFound;
    return report_error("explain", answer.error(), unknown ? kExitNo : kExitBadInput);
  }
  if (a.json) {
    fmt::print("{}\n", answer->dump());
    return kExitDone;
  }
  const auto text = [&](const char* key) { return answer->at(key).get<std::string>(); };
  fmt::print("{}: {} under {}\n", text("name"), text("state"), text("policy"));
  if (!answer->contains("needs_s")) {
    fmt::print("  it neither waits nor runs; `weft status {}` shows what became of it\n", a.job);
    return kExitDone;
  }
  if (answer->at("why").is_string()) {
    const int ahead = answer->value("ahead", 0);
    const std::string why =
        fmt::format("  why it waits: {}{}", text("why"),
                    ahead > 0 ? fmt::format("; {} job{} ahead", ahead, ahead == 1 ? "" : "s") : "");
    fmt::print("{}\n", wrapped(why, kPageColumns, 4));
  }
  const Json& now = answer->at("now_s");
  if (answer->at("predicted_rejected")) {
    fmt::print("  the policy is going to reject it\n");
  } else {
    const std::string start = time_in_words(answer->at("predicted_start_s"), now);
    fmt::print("  predicted {}end: {}{}\n",
               answer->at("why").is_string() ? fmt::format("start: {}; ", start) : "",
               time_in_words(answer->at("predicted_end_s"), now),
               answer->at("forecast_whole") ? "" : " (the forecast ended early)");
  }
  fmt::print("  as of {} ago, it needs {} more, from {}\n",
             time_words(answer->at("state_age_s").get<double>()),
             time_words(answer->at("needs_s").get<double>()), text("estimate_from"));
  return kExitDone;
}

Result<Demand> demand_in(const ForecastArguments& a) {
  DemandOptions options;
  options.users = a.users;
  if (!a.since.empty()) {
    const auto last = live::parse_duration(a.since);
    if (!last) {
      return Error{ErrorKind::kInvalidInput, fmt::format("--since is '{}'", a.since),
                   fmt::format("it must be {}", live::kDurationWanted)};
    }
    options.last_s = *last;
  }
  return read_demand(a.store.empty() ? live::default_store() : a.store, options);
}

// "3 jobs", and what is to be known of them besides.
std::string demand_words(const Demand& demand) {
  const auto jobs = [](std::size_t n) { return fmt::format("{} job{}", n, n == 1 ? "" : "s"); };
  std::string text = jobs(demand.trace.jobs.size());
  if (demand.unfinished > 0) {
    text +=
        fmt::format(" ({} not ended, taken to need what is believed of them)", demand.unfinished);
  }
  if (demand.left_out > 0) {
    text += fmt::format("; {} left out (services, or never ran and nothing is believed of them)",
                        jobs(static_cast<std::size_t>(demand.left_out)));
  }
  return text;
}

int run_whatif(const ForecastArguments& a) {
  auto demand = demand_in(a);
  if (!demand.ok()) return report_error("whatif", demand.error());
  if (!a.cluster.empty()) {
    auto cluster = read_cluster(a.cluster);
    if (!cluster.ok()) return report_error("whatif", cluster.error());
    if (cluster->types.size() < demand->cluster.types.size()) {
      return report_error(
          "whatif",
          {ErrorKind::kInvalidInput,
           fmt::format("--cluster {} has fewer device types than the journal's", a.cluster),
           "jobs name types of the cluster they were submitted to"});
    }
    demand->cluster = std::move(*cluster);
  }
  const auto other = policy_text(a.policy);
  if (!other.ok()) return report_error("whatif", other.error());
  std::vector<RunResult> results;
  for (const std::string& text : {demand->policy, *other}) {
    if (!results.empty() && text == demand->policy) continue;
    const auto composition = live::composition_of_text(text);
    if (!composition.ok()) return report_error("whatif", composition.error());
    const auto policy = assemble(*composition);
    if (!policy.ok()) return report_error("whatif", policy.error());
    SimRequest request;
    request.cluster = &demand->cluster;
    request.trace = &demand->trace;
    request.policy = policy->get();
    request.options.estimates.kind = EstimateMode::Kind::kUser;
    auto result = simulate(request);
    if (!result.ok()) return report_error("whatif", result.error());
    result->uses_estimates = uses_estimates(*composition);
    results.push_back(std::move(*result));
  }
  const std::vector<double> loads(results.size(), 1.0);
  if (a.json) {
    fmt::print("{}", runs_json(results, loads, demand->trace));
    return kExitDone;
  }
  const std::vector<RunGroup> groups = group_by_seed(results, loads);
  const std::string about =
      fmt::format("the journal of {} on {}, {} device{}: {}", demand->trace.path,
                  demand->cluster.text, demand->cluster.device_count(),
                  demand->cluster.device_count() == 1 ? "" : "s", demand_words(*demand));
  fmt::print("{}\n\n{}", wrapped(about, kPageColumns), comparison_page(groups));
  return kExitDone;
}

int run_export(const ForecastArguments& a) {
  const auto demand = demand_in(a);
  if (!demand.ok()) return report_error("export", demand.error());
  const std::string text = trace_yaml(demand->trace, demand->cluster);
  if (a.file.empty()) {
    fmt::print("{}", text);
  } else if (const Status written = write_file_atomically(a.file, text); !written.ok()) {
    return report_error("export", written.error());
  }
  if (a.json && !a.file.empty()) {
    const Json json = {{"jobs", demand->trace.jobs.size()},
                       {"unfinished", demand->unfinished},
                       {"left_out", demand->left_out},
                       {"file", a.file}};
    fmt::print("{}\n", json.dump());
  } else {
    fmt::print(stderr, "weft export: {}\n", demand_words(*demand));
  }
  return kExitDone;
}

int run_policy(const ForecastArguments& a) {
  const auto text = policy_text(a.policy);
  if (!text.ok()) return report_error("policy", text.error());
  DaemonClient client(a.store);
  const auto answer =
      client.ask("POST", "/v1/policy", Json{{"policy", *text}, {"dry_run", a.dry_run}});
  if (!answer.ok()) return report_error("policy", answer.error());
  if (a.json) {
    fmt::print("{}\n", answer->dump());
    return kExitDone;
  }
  if (!a.dry_run) {
    fmt::print("{} decides from now on\n", answer->at("policy").get<std::string>());
    return kExitDone;
  }
  for (const char* what : {"stopped", "changed", "started", "rejected"}) {
    for (const Json& job : answer->at(what)) {
      fmt::print("would be {}: {} {}\n", what, job.at("uuid").get<std::string>(),
                 job.at("name").get<std::string>());
    }
  }
  fmt::print("{} instead of {}: {} jobs would be stopped, {} moved, {} started\n",
             answer->at("policy").get<std::string>(), answer->at("instead_of").get<std::string>(),
             answer->at("stopped").size(), answer->at("changed").size(),
             answer->at("started").size());
  return kExitDone;
}

}  // namespace

std::vector<Verb> add_forecast_commands(CLI::App& app) {
  std::vector<Verb> verbs;
  const auto add = [&](const char* name, const char* says, int (*run)(const ForecastArguments&)) {
    const auto a = std::make_shared<ForecastArguments>();
    CLI::App* verb = app.add_subcommand(name, says);
    verb->add_option("--store", a->store,
                     "folder of the daemon's journal (WEFT_HOME, or a usual place)");
    verb->add_flag("--json", a->json, "print JSON");
    verbs.push_back({verb, [a, run] { return run(*a); }});
    return std::pair{verb, a};
  };
  constexpr const char* kSince = "only jobs submitted within so long before the end: 24h, 7d (all)";
  const auto [explain, e] =
      add("explain", "say why a job waits, and when it will run", run_explain);
  explain->add_option("job", e->job, "uuid, its beginning, or name")->required();
  const auto [whatif, w] =
      add("whatif", "simulate the journal's jobs under another policy", run_whatif);
  whatif->add_option("--policy", w->policy, "by name or YAML file")->required();
  whatif->add_option("--cluster", w->cluster, "another than the journal's: 4x2 or a YAML file");
  whatif->add_option("--since", w->since, kSince);
  const auto [exported, x] =
      add("export", "write the journal's jobs as a trace for weft sim", run_export);
  exported->add_option("what", x->what, "trace")->required()->check(CLI::IsMember({"trace"}));
  exported->add_option("file", x->file, "to write, named .yaml (standard output)");
  exported->add_option("--since", x->since, kSince);
  exported->add_flag("--users", x->users, "put who submitted a job before its name");
  const auto [policy, p] = add("policy", "change the policy in force", run_policy);
  policy->add_option("verb", p->what, "set")->required()->check(CLI::IsMember({"set"}));
  policy->add_option("policy", p->policy, "by name or YAML file")->required();
  policy->add_flag("--dry-run", p->dry_run, "only say what it would change at once");
  return verbs;
}

}  // namespace weft
