#include "bench_command.h"

#include <fmt/core.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/stopwatch.h"
#include "base/table.h"
#include "bench_allreduce.h"
#include "bench_choose.h"
#include "bench_codec.h"
#include "bench_rank.h"
#include "bench_start.h"
#include "bench_survive.h"
#include "bench_training.h"
#include "fabric/flow_load.h"
#include "simgrid_peer.h"

namespace weft {
namespace {

struct FlowsArguments {
  std::uint32_t hosts = 1024, flows = 0;
  std::uint64_t seed = 1;
  double seconds = 2;
  std::string pattern = "random";
  bool alone = false, json = false;

  LoadPattern load() const { return pattern == "ring" ? LoadPattern::kRing : LoadPattern::kRandom; }
};

// Half of `seconds` to reach the steady state, then `seconds` that count.
LoadSpeed measure_flows(const FlowsArguments& a) {
  FlowLoad load(a.load(), a.hosts, a.flows, a.seed);
  LoadSpeed speed;
  for (const double limit_s : {a.seconds / 2, a.seconds}) {
    const double begin = thread_cpu_seconds();
    double spent = 0;
    speed.completions = 0;
    while (spent < limit_s) {
      constexpr int kEventsPerLook = 64;  // a look at the clock costs as much as a small event
      for (int i = 0; i < kEventsPerLook; ++i) {
        load.advance();
        speed.completions += load.ended().size();
      }
      spent = thread_cpu_seconds() - begin;
    }
    speed.completions_per_cpu_s = static_cast<double>(speed.completions) / spent;
  }
  speed.peak_rss_bytes = peak_rss_bytes();
  return speed;
}

std::string load_in_words(const FlowsArguments& a) {
  const std::uint32_t width = leaf_width(a.hosts);
  const std::string load =
      a.load() == LoadPattern::kRing
          ? fmt::format("ring steps of {} hosts, {:.0f} MB from each to the next", a.hosts,
                        kRingBytes * 1e-6)
          : fmt::format(
                "closed loop of {} flows between random two of {} hosts, exponential sizes of mean "
                "{:.0f} MB, seed {}",
                a.flows, a.hosts, kMeanRandomBytes * 1e-6, a.seed);
  return fmt::format("{}; 2-level Clos: {} leaves of {} hosts, {} spines, {} GB/s links, D-mod-K",
                     load, (a.hosts + width - 1) / width, width, width, kLoadLinkBytesPerS * 1e-9);
}

nlohmann::ordered_json speed_json(const LoadSpeed& speed) {
  return {{"completions_per_cpu_s", speed.completions_per_cpu_s},
          {"peak_rss_bytes", speed.peak_rss_bytes},
          {"completions", speed.completions}};
}

constexpr const char* kFlowsModel =
    "flows share each direction of a cable max-min fairly, no latency; every completion exact";

void print_flows_json(const FlowsArguments& a, const LoadSpeed& ours,
                      const Result<LoadSpeed>& simgrid) {
  nlohmann::ordered_json j;
  j["schema"] = 1;
  j["load"] = load_in_words(a);
  j["model"] = kFlowsModel;
  j["pattern"] = a.pattern;
  j["hosts"] = a.hosts;
  j["flows"] = a.flows;
  j["seed"] = a.seed;
  j.update(speed_json(ours));
  if (simgrid.ok()) {
    j["simgrid"] = speed_json(*simgrid);
  } else {
    j["simgrid_absent"] = simgrid.error().what;
  }
  std::fputs((j.dump(2) + "\n").c_str(), stdout);
}

void print_flows_table(const FlowsArguments& a, const LoadSpeed& ours,
                       const Result<LoadSpeed>& simgrid) {
  Table table({"<simulator", "completions/CPU s", "completions", "peak MB", "times SimGrid"});
  const auto row = [&](const char* name, const LoadSpeed& speed) {
    table.row(
        {name, three_digits(speed.completions_per_cpu_s), fmt::format("{}", speed.completions),
         three_digits(static_cast<double>(speed.peak_rss_bytes) * 1e-6),
         simgrid.ok() ? three_digits(speed.completions_per_cpu_s / simgrid->completions_per_cpu_s)
                      : "-"});
  };
  row("weft", ours);
  if (simgrid.ok()) row("SimGrid CM02", *simgrid);
  std::fputs(
      fmt::format("{}\n\n{}\nmodel: {}\n", load_in_words(a), table.text(), kFlowsModel).c_str(),
      stdout);
  if (!simgrid.ok()) {
    std::fputs(fmt::format("SimGrid beside it: {}\n", simgrid.error().text()).c_str(), stderr);
  }
}

int run_flows(FlowsArguments a) {
  if (a.load() == LoadPattern::kRing) {
    if (a.flows != 0 && a.flows != a.hosts) {
      std::fputs(fmt::format("weft bench flows: --flows is {}; a ring of {} hosts has {} flows\n"
                             "  hint: leave --flows out\n",
                             a.flows, a.hosts, a.hosts)
                     .c_str(),
                 stderr);
      return kExitBadInput;
    }
    a.flows = a.hosts;
  } else if (a.flows == 0) {
    a.flows = a.hosts;
  }
  const Result<LoadSpeed> simgrid =
      a.alone ? Result<LoadSpeed>(Error{ErrorKind::kUnsupported, "not asked for (--alone)", ""})
              : measure_simgrid({a.pattern, a.hosts, a.flows, a.seed, a.seconds});
  const LoadSpeed ours = measure_flows(a);
  a.json ? print_flows_json(a, ours, simgrid) : print_flows_table(a, ours, simgrid);
  return kExitDone;
}

Verb add_flows(CLI::App& bench) {
  const auto a = std::make_shared<FlowsArguments>();  // shared by parser and runner
  CLI::App* verb = bench.add_subcommand("flows", "completions of simulated flows per CPU second");
  verb->add_option("--hosts", a->hosts, "on a 2-level Clos as wide as its leaves (1024)")
      ->check(CLI::Range(2u, kMaxEndpoints));
  verb->add_option("--flows", a->flows, "at a time (as many as hosts)")
      ->check(CLI::Range(1u, 10'000'000u));
  verb->add_option("--pattern", a->pattern, "random (closed loop) or ring (steps)")
      ->check(CLI::IsMember({"random", "ring"}));
  verb->add_option("--seconds", a->seconds, "CPU seconds that count; half as much before (2)")
      ->check(CLI::Range(0.001, 3600.0));
  verb->add_option("--seed", a->seed, "of the random flows (1)");
  verb->add_flag("--alone", a->alone, "do not run SimGrid beside ours");
  verb->add_flag("--json", a->json, "print JSON");
  verb->footer(
      "SimGrid runs in a process of its own where the build found it (package libsimgrid-dev).\n"
      "example: weft bench flows --hosts 1024 --flows 1000");
  return {verb, [a] { return run_flows(*a); }};
}

}  // namespace

Verb add_bench_command(CLI::App& app) {
  CLI::App* bench =
      app.add_subcommand("bench", "measure how fast this machine simulates and communicates");
  bench->require_subcommand(1);
  bench->footer(
      "example: weft bench flows --hosts 65536 --flows 65536 --json\n"
      "         weft bench flows --pattern ring --hosts 16384\n"
      "         weft bench allreduce --ranks 4 --sizes 4KB,1MB,64MB\n"
      "         weft bench start --ranks 8,32,64\n"
      "         weft bench training --width 500 --modes int8/bsp none/local:period=8\n"
      "         weft bench choose --ranks 4 --bytes 1MB\n"
      "         weft bench codec --codec int8 topk:rate=0.01");
  const std::vector<Verb> verbs = {add_flows(*bench),         add_bench_allreduce(*bench),
                                   add_bench_start(*bench),   add_bench_codec(*bench),
                                   add_bench_choose(*bench),  add_bench_rank(*bench),
                                   add_bench_survive(*bench), add_bench_training(*bench)};
  return {bench, [verbs] {
            for (const Verb& verb : verbs) {
              if (verb.app->parsed()) return verb.run();
            }
            return kExitBadInput;
          }};
}

}  // namespace weft
