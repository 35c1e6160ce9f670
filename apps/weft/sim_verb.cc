#include "sim_verb.h"

#include <memory>

#include "option_checks.h"
#include "sim_options.h"

namespace weft {
namespace {

constexpr double kLongestSim = 1e10;  // seconds, as in traces

void add_sim_world(CLI::App& sim, SimArguments& a) {
  SimOptions& o = a.options;
  sim.option_defaults()->group("the simulated world");
  sim.add_option("--start-cost", o.start_cost, "seconds before a job's first progress")
      ->check(number_from(0, kLongestSim));
  sim.add_option("--restart-cost", o.restart_cost, "seconds before progress after a preemption")
      ->check(number_from(0, kLongestSim));
  sim.add_option(
         "--checkpoint-interval", o.checkpoint_interval,
         "seconds between checkpoints; a crash loses the work since the last (0: none lost)")
      ->check(number_from(0, kLongestSim));
  sim.add_option("--node-mtbf", o.faults.node_mtbf, "mean seconds between failures of one node")
      ->check(number_from(0, kLongestSim));
  sim.add_option("--device-mtbf", o.faults.device_mtbf,
                 "mean seconds between failures of one device")
      ->check(number_from(0, kLongestSim));
  sim.add_option("--repair", o.faults.repair_mean, "mean seconds until what failed is back")
      ->check(number_from(1e-3, kLongestSim));
  sim.add_option("--spot-mtbf", o.faults.spot_mtbf, "mean seconds until a spot node is revoked")
      ->check(number_from(0, kLongestSim));
  sim.add_option("--spot-gone", o.faults.spot_gone_mean, "mean seconds until it is offered again")
      ->check(number_from(1e-3, kLongestSim));
  sim.add_option("--spot-notice", o.faults.spot_notice, "seconds of notice before a revocation")
      ->check(number_from(0, kLongestSim));
  sim.add_option("--controller-mtbf", o.faults.controller_mtbf,
                 "mean seconds between restarts of the controller; its policy then has no memory")
      ->check(number_from(0, kLongestSim));
  sim.add_option("--faults", a.faults,
                 "recorded outages: CSV of at_s,node,duration_s[,notice_s][,device]");
  sim.add_option("--delay", o.channel.delay_mean, "mean seconds a command or outcome travels")
      ->check(number_from(0, kLongestSim));
  sim.add_option("--loss", o.channel.loss, "share of commands and outcomes lost")
      ->check(number_from(0, 0.9));
  sim.add_option("--duplication", o.channel.duplication, "share of outcomes delivered twice")
      ->check(number_from(0, 1));
  sim.add_option("--refusal", o.channel.refusal, "share of commands refused")
      ->check(number_from(0, 0.9));
  sim.option_defaults()->group("Options");  // of what follows
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
  sim.add_option(
      "--estimates", a.estimates,
      "of durations, for policies that use them: oracle (the true ones), user, history or "
      "noisy:SIGMA; without this option user where the trace has users' estimates, else "
      "oracle");
  sim.add_option("--rates", a.rates,
                 "table: as the trace says; network: jobs that span nodes slow each other")
      ->check(CLI::IsMember({"table", "network"}));
  sim.add_option("--bandwidth", a.bandwidth,
                 "how jobs share links: fair, guarantees (of the trace) or intensity")
      ->check(CLI::IsMember({"fair", "guarantees", "intensity"}));
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

}  // namespace

Verb add_sim_command(CLI::App& app) {
  const auto a = std::make_shared<SimArguments>();  // shared by parser and runner
  CLI::App* sim = app.add_subcommand("sim", "compare scheduling policies on a trace of jobs");
  add_sim_options(*sim, *a);
  sim->footer(
      "example: weft sim --cluster 16x8 --trace jobs.csv --policy fifo,srtf,2d-las\n"
      "         weft sim explain JOB --cluster 16x8 --trace jobs.csv --policy fifo");
  CLI::App* explain = sim->add_subcommand("explain", "say why one job of the trace waited");
  explain->add_option("job", a->explain, "name of the job in the trace")->required();
  explain->footer(
      "Takes the options of `weft sim`, with one policy, cluster, load and seed.\n"
      "example: weft sim explain JOB --cluster 16x8 --trace jobs.csv --policy fifo");
  explain->fallthrough();
  return {sim, [a] { return run_sim(*a); }};
}

}  // namespace weft
