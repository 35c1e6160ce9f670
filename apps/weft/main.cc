// The command line: words in, verbs out. Wiring only.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <map>

#include "agent_command.h"
#include "backup_command.h"
#include "bench_command.h"
#include "completions_command.h"
#include "demo_command.h"
#include "exec_command.h"
#include "forecast_commands.h"
#include "job_commands.h"
#include "launch_command.h"
#include "net_command.h"
#include "option_checks.h"
#include "plan_command.h"
#include "sim_options.h"
#include "token_command.h"
#include "trace_command.h"
#include "up_command.h"
#include "usage_command.h"

namespace weft {
namespace {

constexpr int kBadUsage = 2;
constexpr double kLongest = 1e10;  // seconds, as in traces

void add_sim_world(CLI::App& sim, SimArguments& a) {
  SimOptions& o = a.options;
  sim.add_option("--start-cost", o.start_cost, "seconds before a job's first progress")
      ->check(number_from(0, kLongest));
  sim.add_option("--restart-cost", o.restart_cost, "seconds before progress after a preemption")
      ->check(number_from(0, kLongest));
  sim.add_option(
         "--checkpoint-interval", o.checkpoint_interval,
         "seconds between checkpoints; a crash loses the work since the last (0: none lost)")
      ->check(number_from(0, kLongest));
  sim.add_option("--node-mtbf", o.faults.node_mtbf, "mean seconds between failures of one node")
      ->check(number_from(0, kLongest));
  sim.add_option("--device-mtbf", o.faults.device_mtbf,
                 "mean seconds between failures of one device")
      ->check(number_from(0, kLongest));
  sim.add_option("--repair", o.faults.repair_mean, "mean seconds until what failed is back")
      ->check(number_from(1e-3, kLongest));
  sim.add_option("--spot-mtbf", o.faults.spot_mtbf, "mean seconds until a spot node is revoked")
      ->check(number_from(0, kLongest));
  sim.add_option("--spot-gone", o.faults.spot_gone_mean, "mean seconds until it is offered again")
      ->check(number_from(1e-3, kLongest));
  sim.add_option("--spot-notice", o.faults.spot_notice, "seconds of notice before a revocation")
      ->check(number_from(0, kLongest));
  sim.add_option("--controller-mtbf", o.faults.controller_mtbf,
                 "mean seconds between restarts of the controller; its policy then has no memory")
      ->check(number_from(0, kLongest));
  sim.add_option("--faults", a.faults,
                 "recorded outages: CSV of at_s,node,duration_s[,notice_s][,device]");
  sim.add_option("--delay", o.channel.delay_mean, "mean seconds a command or outcome travels")
      ->check(number_from(0, kLongest));
  sim.add_option("--loss", o.channel.loss, "share of commands and outcomes lost")
      ->check(number_from(0, 0.9));
  sim.add_option("--duplication", o.channel.duplication, "share of outcomes delivered twice")
      ->check(number_from(0, 1));
  sim.add_option("--refusal", o.channel.refusal, "share of commands refused")
      ->check(number_from(0, 0.9));
}

void add_sim_options(CLI::App& sim, SimArguments& a) {
  sim.add_option("--cluster", a.clusters, "16x8, v100:2x4,p100:4x4 or a YAML file; repeatable");
  sim.add_option("--trace", a.trace,
                 "job trace (docs/formats.md), or gen:PRESET,jobs=N,load=L (docs/generator.md)");
  sim.add_option("--policy", a.policies, "policies by name or YAML file, comma separated")
      ->delimiter(',');
  sim.add_option("--place", a.place, "placement in place of the policies' own");
  sim.add_option("--format", a.format, "trace format instead of detecting it");
  sim.add_option("--profiles", a.profiles, "companion file or folder of the trace");
  sim.add_option("--estimates", a.estimates, "oracle, user, history or noisy:SIGMA");
  sim.add_option("--rates", a.rates,
                 "table: as the trace says; network: jobs that span nodes slow each other")
      ->check(CLI::IsMember({"table", "network"}));
  sim.add_option("--bandwidth", a.options.bandwidth,
                 "how jobs share links: fair, guarantees (of the trace) or intensity")
      ->transform(CLI::CheckedTransformer(
          std::map<std::string, BandwidthSharing>{{"fair", BandwidthSharing::kFair},
                                                  {"guarantees", BandwidthSharing::kGuarantees},
                                                  {"intensity", BandwidthSharing::kIntensity}}));
  sim.add_option("--codecs", a.codecs,
                 "offer jobs codecs, sync modes and algorithms on links of these speeds "
                 "(WEFT_LINKS)");
  sim.add_option("--network", a.network,
                 "topology under the nodes for --rates network (docs/topologies.md)");
  sim.add_option("--replicate", a.options.replicate, "copies of every job")
      ->check(whole_number_from(1, 100'000));
  sim.add_option("--load", a.loads, "arrivals this many times as fast; several make a sweep")
      ->delimiter(',')
      ->check(number_from(1e-3, 1e3));
  sim.add_option("--seed", a.seed, "of everything random")
      ->check(whole_number_from(0, std::int64_t{1} << 53));
  sim.add_option("--seeds", a.seeds, "runs with seeds seed, seed+1, ...; prints mean ± deviation")
      ->check(whole_number_from(1, 1000));
  sim.add_option("--threads", a.threads, "runs at a time (0: one per core)")
      ->check(whole_number_from(0, 1024));
  sim.add_flag("--json", a.json, "print JSON");
  sim.add_flag("--csv", a.csv, "print the table as CSV");
  sim.add_flag("--md", a.markdown, "print the table as Markdown");
  sim.add_flag("--list-policies", a.list_policies, "print every policy with its rule's source");
  sim.add_option("--jobs-out", a.jobs_out, "write one CSV row per job");
  sim.add_option("--decisions", a.decisions, "write every event, decision and command");
  sim.add_option("--report", a.report, "write one HTML page with charts and the GPU timeline");
  add_sim_world(sim, a);
}

int run(int argc, char** argv) {
  if (const auto kept = run_keeper(argc, argv)) return *kept;
  if (const auto met = run_meeting(argc, argv)) return *met;
  CLI::App app{"Weft schedules deep-learning clusters, in simulation and for real."};
  app.set_version_flag("--version", WEFT_VERSION);
  app.require_subcommand(1);
  SimArguments arguments;
  CLI::App* sim = app.add_subcommand("sim", "replay a trace of jobs under one or more policies");
  add_sim_options(*sim, arguments);
  sim->footer(
      "example: weft sim --cluster 16x8 --trace jobs.csv --policy fifo,srtf,2d-las\n"
      "         weft sim explain JOB --cluster 16x8 --trace jobs.csv --policy fifo");
  CLI::App* explain = sim->add_subcommand("explain", "say why one job waited");
  explain->add_option("job", arguments.explain, "name of the job in the trace")->required();
  explain->fallthrough();
  const Verb net = add_net_command(app);
  const Verb bench = add_bench_command(app);
  const Verb plan = add_plan_command(app);
  const Verb launch = add_launch_command(app);
  const Verb trace = add_trace_command(app);
  const Verb agent = add_agent_command(app);
  std::vector<Verb> daily = add_job_commands(app);
  for (const Verb& verb : add_exec_commands(app, take_exec_words(argc, argv))) {
    daily.push_back(verb);
  }
  daily.push_back(add_demo_command(app));
  for (const Verb& verb : add_forecast_commands(app)) daily.push_back(verb);
  daily.push_back(add_up_command(app));
  daily.push_back(add_down_command(app));
  daily.push_back(add_token_command(app));
  daily.push_back(add_usage_command(app));
  daily.push_back(add_top_command(app));
  daily.push_back(add_backup_command(app));
  daily.push_back(add_restore_command(app));
  daily.push_back(add_completions_command(app));
  protect_launch_words(argc, argv);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kBadUsage;
  }
  if (net.app->parsed()) return net.run();
  if (bench.app->parsed()) return bench.run();
  if (plan.app->parsed()) return plan.run();
  if (launch.app->parsed()) return launch.run();
  if (trace.app->parsed()) return trace.run();
  if (agent.app->parsed()) return agent.run();
  for (const Verb& verb : daily) {
    if (verb.app->parsed()) return verb.run();
  }
  return run_sim(arguments);
}

}  // namespace
}  // namespace weft

int main(int argc, char** argv) {
  const int code = weft::run(argc, argv);
  // A full disk or a closed output shows here at the latest; results must not vanish unsaid.
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  std::fputs("weft: standard output could not be written\n", stderr);
  return code == 0 ? weft::kBadUsage : code;
}
