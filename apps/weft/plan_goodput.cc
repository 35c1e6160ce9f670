// `weft plan goodput`: what failures cost under each recovery policy.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/delimited.h"
#include "base/quantity.h"
#include "base/table.h"
#include "base/units.h"
#include "option_checks.h"
#include "plan_command.h"
#include "planner/goodput/goodput.h"
#include "planner/goodput/interval.h"
#include "planner/goodput/simulate.h"

namespace weft {
namespace {

using nlohmann::ordered_json;

using planner::FailingPart;
using planner::GoodputCase;
using planner::Recovery;
using planner::RecoveryInfo;

constexpr double kWaitingWanted = 1e-3;

struct GoodputArguments {
  GoodputCase c;
  double failures_per_node_day = 0;
  std::vector<std::string> parts, policies;
  long simulate = 0;
  std::uint64_t seed = 1;
  bool json = false, csv = false, markdown = false;
  bool has_stages = false, has_memory_restart = false, has_reconfigure = false;
};

struct GoodputRow {
  RecoveryInfo info;
  planner::Goodput expected;
  bool closed = true;  // `expected` applies
  std::optional<planner::SimulatedGoodput> simulated;

  double goodput() const { return closed ? expected.goodput : simulated->goodput; }
};

Result<FailingPart> parse_failing_part(const std::string& text) {
  const std::size_t first = text.find(':'), last = text.rfind(':');
  if (first != std::string::npos && last > first && first > 0) {
    const auto count = parse_number(text.substr(first + 1, last - first - 1));
    const auto mtbf = parse_seconds(text.substr(last + 1));
    if (count && *count >= 0 && mtbf && *mtbf > 0) {
      return FailingPart{text.substr(0, first), *count, *mtbf / 3600};
    }
  }
  return Error{ErrorKind::kInvalidInput,
               fmt::format("--part {} is not NAME:COUNT:MEAN_TIME_BETWEEN_FAILURES", shown(text)),
               "for instance gpu:16384:50000h"};
}

// The failure rate of a node, from whichever way it was given.
Status find_rate(GoodputArguments& a, std::vector<FailingPart>& parts) {
  for (const std::string& text : a.parts) {
    auto part = parse_failing_part(text);
    if (!part.ok()) return part.error();
    parts.push_back(std::move(*part));
  }
  const int ways = (parts.empty() ? 0 : 1) + (a.c.node_mtbf_s > 0 ? 1 : 0) +
                   (a.failures_per_node_day > 0 ? 1 : 0);
  if (ways != 1) {
    return Error{ErrorKind::kInvalidInput,
                 fmt::format("failures are given in {} ways; one is needed", ways),
                 "--node-mtbf 6330h, --failures-per-node-day 0.00379, or --part once or more"};
  }
  if (a.failures_per_node_day > 0) a.c.node_mtbf_s = kDay / a.failures_per_node_day;
  double per_hour = 0;
  for (const FailingPart& part : parts) per_hour += part.count / part.mtbf_h;
  if (!parts.empty()) a.c.node_mtbf_s = per_hour > 0 ? a.c.nodes * 3600 / per_hour : 0;
  return {};
}

Result<std::vector<GoodputRow>> evaluate(GoodputArguments& a) {
  if (!a.has_memory_restart) a.c.memory_restart_s = a.c.restart_s;
  if (!a.has_reconfigure) a.c.reconfigure_s = a.c.restart_s;
  std::vector<RecoveryInfo> wanted;
  for (const RecoveryInfo& info : planner::recoveries()) {
    const bool needs_stages = info.policy >= Recovery::kTemplates;
    if (a.policies.empty() && (a.has_stages || !needs_stages)) wanted.push_back(info);
  }
  for (const std::string& name : a.policies) {
    const auto policy = planner::recovery_named(name);
    if (!policy.ok()) return policy.error();
    wanted.push_back(planner::recoveries()[static_cast<std::size_t>(*policy)]);
  }
  std::vector<GoodputRow> rows;
  const bool closed = planner::has_closed_form(a.c);
  if (!closed && a.simulate == 0) {
    return Error{ErrorKind::kInvalidInput,
                 "racks that take time to repair have no closed form; they need --simulate",
                 "for instance --simulate 40000"};
  }
  for (const RecoveryInfo& info : wanted) {
    if (const Status status = planner::check_case(a.c, info.policy); !status.ok()) {
      return status.error();
    }
    GoodputRow row{info, planner::expected_goodput(a.c, info.policy), closed, {}};
    if (a.simulate > 0) {
      row.simulated = planner::simulate_goodput(a.c, info.policy, a.simulate, a.seed);
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string percent(double part) { return fmt::format("{:.2f}", 100 * part); }

Table goodput_table(const std::vector<GoodputRow>& rows, bool simulated) {
  std::vector<std::string> headings = {"<policy", "checkpoint every s", "goodput %"};
  if (simulated) headings.push_back("simulated %");
  for (const char* name : {"checkpoints %", "lost %", "recovery %", "waiting %", "degraded %"}) {
    headings.emplace_back(name);
  }
  Table table(headings);
  for (const GoodputRow& row : rows) {
    const planner::Goodput& g = row.expected;
    std::vector<std::string> cells = {
        std::string(row.info.name),
        std::isinf(g.interval_s) ? "never" : fmt::format("{:.0f}", g.interval_s),
        row.closed ? percent(g.goodput) : ""};
    if (row.simulated) cells.push_back(percent(row.simulated->goodput));
    for (const double part : {g.checkpoints, g.lost, g.recovery, g.waiting, g.degraded}) {
      cells.push_back(row.closed ? percent(part) : "");
    }
    table.row(std::move(cells));
  }
  return table;
}

struct Intervals {
  double young, daly, exact;
};

Intervals intervals_of(const GoodputCase& c) {
  const double mtbf = 1 / c.failures_per_s();
  const planner::Checkpointing k{1 / mtbf, c.checkpoint_s, 0, 0, c.detect_s + c.restart_s};
  return {planner::young_interval(c.checkpoint_s, mtbf),
          planner::daly_interval(c.checkpoint_s, mtbf), planner::best_interval(k)};
}

std::string story(const GoodputCase& c, const std::vector<GoodputRow>& rows) {
  const Intervals i = intervals_of(c);
  std::string text = fmt::format(
      "a failure every {}; a checkpoint of {} every {:.0f} s (exact; Young {:.0f}, Daly {:.0f})\n",
      seconds_text(1 / c.failures_per_s()), seconds_text(c.checkpoint_s), i.exact, i.young, i.daly);
  if (c.repair_s > 0 && planner::has_closed_form(c)) {
    text += fmt::format("{} spares keep a restarting job's wait for repairs within {} %\n",
                        planner::spares_for(c, kWaitingWanted), 100 * kWaitingWanted);
  }
  const auto best = std::max_element(rows.begin(), rows.end(),
                                     [](auto& a, auto& b) { return a.goodput() < b.goodput(); });
  return text + fmt::format("{} is best: {} % of the time is training\n", best->info.name,
                            percent(best->goodput()));
}

std::string goodput_json(const GoodputArguments& a, const std::vector<FailingPart>& parts,
                         const std::vector<GoodputRow>& rows) {
  const Intervals i = intervals_of(a.c);
  ordered_json causes = ordered_json::array(), policies = ordered_json::array();
  for (const FailingPart& part : parts) {
    causes.push_back({{"name", part.name},
                      {"count", part.count},
                      {"mtbf_h", part.mtbf_h},
                      {"failures_per_day", 24 * part.count / part.mtbf_h}});
  }
  for (const GoodputRow& row : rows) {
    const planner::Goodput& g = row.expected;
    ordered_json one = {
        {"policy", row.info.name},
        {"source", row.info.source},
        {"interval_s", std::isinf(g.interval_s) ? ordered_json() : ordered_json(g.interval_s)},
        {"goodput", row.closed ? ordered_json(g.goodput) : ordered_json()},
        {"checkpoints", row.closed ? ordered_json(g.checkpoints) : ordered_json()},
        {"lost", row.closed ? ordered_json(g.lost) : ordered_json()},
        {"recovery", row.closed ? ordered_json(g.recovery) : ordered_json()},
        {"waiting", row.closed ? ordered_json(g.waiting) : ordered_json()},
        {"degraded", row.closed ? ordered_json(g.degraded) : ordered_json()}};
    if (row.simulated) {
      one["simulated"] = {{"goodput", row.simulated->goodput},
                          {"seconds", row.simulated->seconds},
                          {"failures", row.simulated->failures},
                          {"seed", a.seed}};
    }
    policies.push_back(std::move(one));
  }
  const ordered_json out = {
      {"schema", 1},
      {"nodes", a.c.nodes},
      {"mtbf_s", 1 / a.c.failures_per_s()},
      {"parts", std::move(causes)},
      {"young_interval_s", i.young},
      {"daly_interval_s", i.daly},
      {"exact_interval_s", i.exact},
      {"spares_wanted", planner::has_closed_form(a.c)
                            ? ordered_json(planner::spares_for(a.c, kWaitingWanted))
                            : ordered_json()},
      {"policies", std::move(policies)}};
  return out.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

int run_goodput(GoodputArguments& a) {
  std::vector<FailingPart> parts;
  if (const Status status = find_rate(a, parts); !status.ok())
    return report_error("plan goodput", status.error());
  const auto rows = evaluate(a);
  if (!rows.ok()) return report_error("plan goodput", rows.error());
  const Table table = goodput_table(*rows, a.simulate > 0);
  const std::string text = a.json       ? goodput_json(a, parts, *rows)
                           : a.csv      ? table.csv()
                           : a.markdown ? table.markdown()
                                        : table.text() + story(a.c, *rows);
  std::fputs(text.c_str(), stdout);
  return kExitDone;
}

// A time with or without its unit.
CLI::Option* add_time(CLI::App& app, const char* name, double& value, const char* help) {
  const auto read = [&value](const std::string& text) {
    const auto seconds = parse_seconds(text);
    if (!seconds)
      throw CLI::ValidationError(fmt::format("{} is not {}", shown(text), kSecondsWanted));
    value = *seconds;
  };
  return app.add_option_function<std::string>(name, read, help)->type_name("TIME");
}

void add_failures(CLI::App& app, GoodputArguments& a) {
  app.add_option("--nodes", a.c.nodes, "nodes the job runs on")->required();
  add_time(app, "--node-mtbf", a.c.node_mtbf_s, "mean time between failures of one node");
  app.add_option("--failures-per-node-day", a.failures_per_node_day, "the same as a rate")
      ->check(number_from(0, 1e6));
  app.add_option(
      "--part", a.parts,
      "NAME:COUNT:MTBF, once per kind of thing in the job that fails (gpu:16384:50000h)");
  app.add_option("--rack", a.c.rack_nodes, "nodes that a rack or a switch takes with it");
  add_time(app, "--rack-mtbf", a.c.rack_mtbf_s, "mean time between failures of one rack");
  add_time(app, "--rack-repair", a.c.rack_repair_s, "until a failed rack is back (0: at once)");
  app.add_option("--spares", a.c.spares, "nodes that stand by");
  add_time(app, "--repair", a.c.repair_s, "until a failed node is back (0: at once)");
  add_time(app, "--detect", a.c.detect_s, "from a failure to its discovery");
}

void add_policies(CLI::App& app, GoodputArguments& a, CLI::Option*& memory, CLI::Option*& stages,
                  CLI::Option*& reconfigure) {
  add_time(app, "--restart", a.c.restart_s, "from discovery to the first step, from the store")
      ->required();
  add_time(app, "--checkpoint", a.c.checkpoint_s, "to write a checkpoint to the store")->required();
  add_time(app, "--interval", a.c.interval_s, "work between checkpoints (default: the best)");
  add_time(app, "--step", a.c.step_s, "one training step (default 1 s)");
  add_time(app, "--snapshot", a.c.snapshot_s, "overlapped: standstill for the copy to the host");
  app.add_option("--persist-slowdown", a.c.persist_slowdown,
                 "overlapped: part by which training slows while it is written")
      ->check(number_from(0, 1));
  add_time(app, "--memory-checkpoint", a.c.memory_checkpoint_s, "in-memory: standstill per step");
  memory = add_time(app, "--memory-restart", a.c.memory_restart_s,
                    "in-memory: from discovery to the first step (default: --restart)");
  app.add_option("--copies", a.c.copies, "in-memory: nodes that hold each checkpoint (default 2)");
  app.add_flag("--copies-apart", a.c.copies_apart, "in-memory: never two of them in one rack");
  stages = app.add_option("--stages", a.c.stages, "nodes of one pipeline");
  app.add_option("--microbatches", a.c.micro_batches, "per pipeline and step");
  app.add_option("--least-nodes", a.c.least_nodes,
                 "templates: fewer cannot train (default: one pipeline)");
  reconfigure = add_time(app, "--reconfigure", a.c.reconfigure_s,
                         "templates, redundant, rerouted: per change (default: --restart)");
  app.add_option("--redundancy", a.c.redundancy, "redundant: part by which it slows training")
      ->check(number_from(0, 100));
}

}  // namespace

Verb add_plan_goodput(CLI::App& plan) {
  CLI::App* app = plan.add_subcommand("goodput", "what failures cost, by recovery policy");
  auto a = std::make_shared<GoodputArguments>();
  CLI::Option *memory = nullptr, *stages = nullptr, *reconfigure = nullptr;
  add_failures(*app, *a);
  add_policies(*app, *a, memory, stages, reconfigure);
  app->add_option("--policy", a->policies,
                  "names, comma separated (docs/goodput.md); those with pipelines need --stages")
      ->delimiter(',');
  app->add_option("--simulate", a->simulate, "also simulate so many failures")
      ->check(whole_number_from(0, 100'000'000));
  app->add_option("--seed", a->seed, "of the simulation");
  app->add_flag("--json", a->json, "print JSON");
  app->add_flag("--csv", a->csv, "print the table as CSV");
  app->add_flag("--md", a->markdown, "print the table as Markdown");
  return {app, [a, memory, stages, reconfigure] {
            a->has_memory_restart = memory->count() > 0;
            a->has_stages = stages->count() > 0;
            a->has_reconfigure = reconfigure->count() > 0;
            return run_goodput(*a);
          }};
}

}  // namespace weft
