// `weft plan search`: the best way to train a model on a number of devices.
#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/stopwatch.h"
#include "base/table.h"
#include "option_checks.h"
#include "plan_command.h"
#include "plan_layout.h"
#include "planner/search.h"

namespace weft {
namespace {

using nlohmann::ordered_json;
using namespace planner;

struct SearchArguments {
  std::string model, device = "h100", network, framework = "megatron-core", space = "own";
  SearchQuestion question;
  int sequence = 0;
  bool json = false, csv = false, markdown = false, list = false, flags = false;
  std::string svg, perfetto;
};

int fail(const Error& error) { return plan_fail("search", error); }

int list_names() {
  Table table({"<model", "parameters", "active", "layers", "hidden", "heads", "sequence"});
  for (const Transformer& m : transformers()) {
    table.row({m.name, fmt::format("{:.4g}B", parameters(m) / 1e9),
               fmt::format("{:.4g}B", active_parameters(m) / 1e9), fmt::format("{}", m.layers),
               fmt::format("{}", m.hidden), fmt::format("{}", m.heads),
               fmt::format("{}", m.sequence)});
  }
  std::string text = table.text() + "\ndevices:";
  for (const Device& one : devices()) text += " " + one.name;
  text += "\nnetworks:";
  for (const Network& one : networks()) text += " " + one.name;
  text += "\nframeworks:";
  for (const Framework& one : frameworks()) text += " " + one.name;
  std::fputs((text + "\n").c_str(), stdout);
  return kExitDone;
}

struct Spent {
  double cpu_s = 0;
  std::int64_t peak_rss_bytes = 0;
};

std::string make_json(const Workload& work, const SearchAnswer& answer, const Spent& spent) {
  ordered_json out = {{"schema", 1},
                      {"model", work.model.name},
                      {"device", work.machines.device.name},
                      {"network", work.machines.network.name},
                      {"framework", work.framework.name},
                      {"configurations", answer.configurations},
                      {"feasible", answer.feasible},
                      {"cpu_s", spent.cpu_s},
                      {"configurations_per_cpu_s", double(answer.configurations) / spent.cpu_s},
                      {"peak_rss_bytes", spent.peak_rss_bytes},
                      {"best", nullptr},
                      {"runner_up", nullptr},
                      {"rejected", ordered_json::object()}};
  for (const auto& [reason, count] : answer.rejected) out["rejected"][reason] = count;
  const auto list = [&](const std::vector<Candidate>& candidates) {
    ordered_json all = ordered_json::array();
    for (const Candidate& one : candidates) all.push_back(describe_candidate(work, one));
    return all;
  };
  if (!answer.ranked.empty()) out["best"] = describe_candidate(work, answer.ranked[0]);
  if (answer.ranked.size() > 1) {
    out["runner_up"] = describe_candidate(work, answer.ranked[1]);
    out["runner_up"]["to_win"] = what_would_win(answer.ranked[0], answer.ranked[1]);
  }
  if (answer.nearest) out["nearest"] = describe_candidate(work, *answer.nearest);
  out["ranked"] = list(answer.ranked);
  out["pareto"] = list(answer.pareto);
  return out.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

Table ranked_table(const Workload& work, const std::vector<Candidate>& ranked) {
  Table table({"<layout", "step s", "vs best", "MFU %", "memory GB", "compute", "recompute",
               "tensor", "expert", "pipeline", "data", "bubble", "host", "optimizer", "offload"});
  for (const Candidate& one : ranked) {
    const StepTime& t = one.time;
    const auto part = [&](Seconds s) { return fmt::format("{:.1f}%", 100 * s / t.total()); };
    table.row({describe(one.layout) + (&one == &ranked.front() ? " ✓" : ""),
               three_digits(t.total()), fmt::format("{:.3f}x", t.total() / ranked[0].time.total()),
               fmt::format("{:.1f}", 100 * flops_utilisation(work, one)),
               three_digits(one.memory.total() / 1e9), part(t.compute), part(t.recompute),
               part(t.tensor), part(t.expert), part(t.pipeline), part(t.data), part(t.bubble),
               part(t.host), part(t.optimizer), part(t.offload)});
  }
  return table;
}

std::string front_text(const std::vector<Candidate>& pareto) {
  Table table({"<time against memory", "memory GB", "step s"});
  for (const Candidate& one : pareto) {
    table.row({describe(one.layout), three_digits(one.memory.total() / 1e9),
               three_digits(one.seconds())});
  }
  return table.text();
}

std::string report(const Workload& work, const SearchAnswer& answer, const Spent& spent) {
  std::string text = ranked_table(work, answer.ranked).text() + "\n" + memory_text(work, answer) +
                     "\n" + front_text(answer.pareto) + "\n";
  text +=
      fmt::format("{} configurations, {} fit; {:.2f} CPU s ({:.3g} per CPU second), {:.0f} MB\n",
                  answer.configurations, answer.feasible, spent.cpu_s,
                  double(answer.configurations) / spent.cpu_s, double(spent.peak_rss_bytes) / 1e6);
  for (const auto& [reason, count] : answer.rejected) {
    text += fmt::format("rejected: {} ({})\n", count, reason);
  }
  if (answer.ranked.size() > 1) {
    text += fmt::format("runner-up: {}: {}\n", describe(answer.ranked[1].layout),
                        what_would_win(answer.ranked[0], answer.ranked[1]));
  }
  return text + fmt::format("best: {}, {} s per step\n", describe(answer.ranked[0].layout),
                            three_digits(answer.ranked[0].seconds()));
}

int tell_nothing_fits(const Workload& work, const SearchArguments& a, const SearchAnswer& answer) {
  std::string text = fmt::format("weft plan search: {} fits nowhere on {} x {} ({:.0f} GB)\n",
                                 work.model.name, a.question.devices, work.machines.device.name,
                                 work.machines.device.memory_bytes / 1e9);
  if (answer.nearest) {
    text += fmt::format("  nearest: {} needs {:.1f} GB on a device ({:.1f} GB too much)\n",
                        describe(answer.nearest->layout), answer.nearest->memory.total() / 1e9,
                        (answer.nearest->memory.total() - work.machines.device.memory_bytes) / 1e9);
  }
  text += "  hint: use more devices, devices with more memory, or a smaller batch\n";
  std::fputs(text.c_str(), stderr);
  return kExitNo;
}

Status write_charts(const Workload& work, const SearchArguments& a, const Candidate& best) {
  if (a.svg.empty() && a.perfetto.empty()) return {};
  return write_pipeline_charts(work, best, a.svg, a.perfetto);
}

int answer(const Workload& work, const SearchArguments& a) {
  const double before = thread_cpu_seconds();
  const auto found = search(work, a.question);
  if (!found.ok()) return fail(found.error());
  const Spent spent{thread_cpu_seconds() - before, peak_rss_bytes()};
  if (a.json) std::fputs(make_json(work, *found, spent).c_str(), stdout);
  if (found->ranked.empty()) return tell_nothing_fits(work, a, *found);
  if (const Status status = write_charts(work, a, found->ranked[0]); !status.ok()) {
    return fail(status.error());
  }
  if (a.json) return kExitDone;
  const Table table = ranked_table(work, found->ranked);
  std::string text = a.csv        ? table.csv()
                     : a.markdown ? table.markdown()
                                  : report(work, *found, spent);
  if (a.flags) text += launch_flags(work, found->ranked[0].layout);
  std::fputs(text.c_str(), stdout);
  return kExitDone;
}

int run(const SearchArguments& a) {
  if (a.list) return list_names();
  if (a.model.empty()) {
    return fail({ErrorKind::kInvalidInput, "a model is needed",
                 "weft plan search gpt3-175b --devices 1024 --batch 1536 --device a100-80"});
  }
  auto model = find_transformer(a.model);
  if (!model.ok()) return fail(model.error());
  if (a.sequence > 0) model->sequence = a.sequence;
  const auto machines = find_machines(a.device, a.network);
  if (!machines.ok()) return fail(machines.error());
  const auto framework = find_framework(a.framework);
  if (!framework.ok()) return fail(framework.error());
  return answer({*model, *machines, *framework}, a);
}

}  // namespace

Verb add_plan_search(CLI::App& plan) {
  CLI::App* app = plan.add_subcommand("search", "the best way to train a model on given devices");
  auto a = std::make_shared<SearchArguments>();
  app->add_option("model", a->model, "a name (--list), or a path to YAML or a config.json");
  app->add_option("--devices", a->question.devices, "devices in all")
      ->check(whole_number_from(1, 1'000'000));
  app->add_option("--batch", a->question.batch, "samples of one step")
      ->check(whole_number_from(1, 1'000'000));
  app->add_option("--sequence", a->sequence, "tokens of a sample, instead of the model's own")
      ->check(whole_number_from(1, 100'000'000));
  app->add_option("--device", a->device, "device type, or a path to YAML (default h100)");
  app->add_option("--network", a->network, "network between nodes (default: the device's usual)");
  app->add_option("--framework", a->framework, "training software (default megatron-core)");
  app->add_option("--space", a->space, "own, or calculon: the knobs that Calculon searches")
      ->check(CLI::IsMember({"own", "calculon"}));
  app->add_option("--top", a->question.keep, "layouts to rank (default 10)")
      ->check(whole_number_from(2, 1000));
  app->add_option("--svg", a->svg, "write a Gantt chart of the best layout's pipeline");
  app->add_option("--perfetto", a->perfetto, "write a Perfetto (Chrome) trace of it");
  app->add_flag("--flags", a->flags, "print launch flags for Megatron-LM and torchrun");
  app->add_flag("--json", a->json, "print JSON");
  app->add_flag("--csv", a->csv, "print the ranked table as CSV");
  app->add_flag("--md", a->markdown, "print the ranked table as Markdown");
  app->add_flag("--list", a->list, "print the models, devices, networks and frameworks");
  return {app, [a] {
            a->question.space = a->space == "own" ? SearchSpace::kOwn : SearchSpace::kCalculon;
            return run(*a);
          }};
}

}  // namespace weft
