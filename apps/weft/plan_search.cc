// `weft plan search`: the best way to train a model on a number of devices.
#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "base/files.h"
#include "base/stopwatch.h"
#include "base/table.h"
#include "option_checks.h"
#include "plan_command.h"
#include "plan_found.h"
#include "plan_layout.h"
#include "plan_pools.h"

namespace weft {
namespace {

struct SearchArguments {
  std::string model, network, framework = "megatron-core", space = "own";
  std::vector<std::string> kinds = {"h100"};
  std::vector<int> devices = {1};
  std::vector<double> prices;
  planner::SearchQuestion question;
  int sequence = 0;
  bool devices_given = false;
  bool json = false, csv = false, markdown = false, list = false, flags = false;
  std::string svg, perfetto, report;
};

int list_names() {
  Table table({"<model", "parameters", "active", "layers", "hidden", "heads", "sequence"});
  for (const planner::Transformer& m : planner::transformers()) {
    table.row({m.name, fmt::format("{:.4g}B", planner::parameters(m) / 1e9),
               fmt::format("{:.4g}B", planner::active_parameters(m) / 1e9),
               fmt::format("{}", m.layers), fmt::format("{}", m.hidden), fmt::format("{}", m.heads),
               fmt::format("{}", m.sequence)});
  }
  std::string text = table.text() + "\ndevices:";
  for (const planner::Device& one : planner::devices()) text += " " + one.name;
  text += "\nnetworks:";
  for (const planner::Network& one : planner::networks()) text += " " + one.name;
  text += "\nframeworks:";
  for (const planner::Framework& one : planner::frameworks()) text += " " + one.name;
  std::fputs((text + "\n").c_str(), stdout);
  return kExitDone;
}

int tell_nothing_fits(const FoundPlan& found) {
  const planner::Offer& offer = found.offer();
  const double memory = offer.machines.device.memory_bytes;
  std::string text = fmt::format("weft plan search: {} fits nowhere on {} ({:.0f} GB)\n",
                                 found.model.name, found.name_of_offer(found.chosen), memory / 1e9);
  if (const auto& nearest = offer.answer.nearest) {
    text += fmt::format("  nearest: {} needs {:.1f} GB on a device ({:.1f} GB too much)\n",
                        planner::describe(nearest->layout), nearest->memory.total() / 1e9,
                        (nearest->memory.total() - memory) / 1e9);
  }
  text += "  hint: use more devices, devices with more memory, or a smaller batch\n";
  std::fputs(text.c_str(), stderr);
  return kExitNo;
}

// Prices by kind of device: one for all, or one for each.
Status put_prices(const SearchArguments& a, std::vector<planner::Machines>& kinds) {
  if (!a.prices.empty() && a.prices.size() != 1 && a.prices.size() != kinds.size()) {
    return Error{ErrorKind::kInvalidInput,
                 fmt::format("{} prices for {} kinds of devices", a.prices.size(), kinds.size()),
                 "give one price, or one for each of --device"};
  }
  for (std::size_t i = 0; i < kinds.size() && !a.prices.empty(); ++i) {
    kinds[i].device.price_per_hour = a.prices[a.prices.size() == 1 ? 0 : i];
  }
  const auto priced = [](const planner::Machines& one) { return one.device.price_per_hour > 0; };
  const auto count = std::count_if(kinds.begin(), kinds.end(), priced);
  if (count != 0 && count != std::ssize(kinds)) {
    return Error{ErrorKind::kInvalidInput,
                 fmt::format("{} of {} kinds of devices have a price", count, kinds.size()),
                 "costs compare only if all have one: use --price"};
  }
  return {};
}

// Tries every number of devices of every kind. The error is the first that concerns them all.
Status try_offers(const SearchArguments& a, const std::vector<planner::Machines>& kinds,
                  FoundPlan& found) {
  Status problem;
  for (const planner::Machines& kind : kinds) {
    for (const int devices : a.devices) {
      const planner::Workload work{found.model, kind, found.framework};
      planner::SearchQuestion question = a.question;
      question.devices = devices;
      auto answer = planner::search(work, question);
      if (!answer.ok()) {
        if (problem.ok()) problem = answer.error();
        continue;
      }
      planner::solve_best(work, *answer);
      found.offers.push_back({kind, devices, std::move(*answer)});
    }
  }
  if (found.offers.empty()) return problem;
  for (std::size_t i = 0; i < found.offers.size(); ++i) {
    const auto& ranked = found.offers[i].answer.ranked;
    const auto& best = found.answer().ranked;
    const bool faster =
        !ranked.empty() && (best.empty() || planner::seconds_per_sample(ranked[0]) <
                                                planner::seconds_per_sample(best[0]));
    if (faster) found.chosen = i;
  }
  found.front = planner::front_of(found.offers);
  return {};
}

Status write_plan_files(const SearchArguments& a, const FoundPlan& found) {
  const planner::Candidate& best = found.answer().ranked[0];
  if (!a.report.empty()) {
    const Status status = write_file_atomically(a.report, plan_html(found));
    if (!status.ok()) return status;
  }
  if (a.svg.empty() && a.perfetto.empty()) return {};
  return write_pipeline_charts(found.work(), best, a.svg, a.perfetto);
}

int answer(FoundPlan& found, const std::vector<planner::Machines>& kinds,
           const SearchArguments& a) {
  const double before = thread_cpu_seconds();
  if (const Status status = try_offers(a, kinds, found); !status.ok())
    return report_error("plan search", status.error());
  found.cpu_s = thread_cpu_seconds() - before;
  found.peak_rss_bytes = peak_rss_bytes();
  if (a.json) std::fputs(plan_json(found).c_str(), stdout);
  if (!found.fits()) return tell_nothing_fits(found);
  if (const Status status = write_plan_files(a, found); !status.ok())
    return report_error("plan search", status.error());
  if (a.json) return kExitDone;
  std::string text = a.csv        ? ranked_table(found).csv()
                     : a.markdown ? ranked_table(found).markdown()
                                  : plan_text(found);
  if (a.flags) text += launch_flags(found.work(), found.answer().ranked[0].layout);
  std::fputs(text.c_str(), stdout);
  return kExitDone;
}

int search_mixed(const SearchArguments& a, const planner::Transformer& model,
                 const planner::Framework& framework, const std::vector<planner::Pool>& pools) {
  const bool pictures = !(a.svg + a.perfetto + a.report).empty() || a.flags;
  if (a.kinds.size() > 1 || a.devices_given || pictures || a.space != "own") {
    return report_error(
        "plan search",
        {ErrorKind::kInvalidInput, "a file of pools says which devices there are; it stands alone",
         "leave out --devices, --space, further --device, --svg, --perfetto, --report, "
         "--flags"});
  }
  return plan_pools(
      {model, framework, pools, a.question.batch, a.question.keep, a.json, a.csv, a.markdown});
}

int run_search(const SearchArguments& a) {
  if (a.list) return list_names();
  if (a.model.empty()) {
    return report_error(
        "plan search", {ErrorKind::kInvalidInput, "a model is needed",
                        "weft plan search gpt3-175b --devices 1024 --batch 1536 --device a100-80"});
  }
  auto model = planner::find_transformer(a.model);
  if (!model.ok()) return report_error("plan search", model.error());
  if (a.sequence > 0) model->sequence = a.sequence;
  const auto framework = planner::find_framework(a.framework);
  if (!framework.ok()) return report_error("plan search", framework.error());
  for (const std::string& name : a.kinds) {
    const auto pools = planner::read_pools(name);
    if (!pools.ok()) return report_error("plan search", pools.error());
    if (!pools->empty()) return search_mixed(a, *model, *framework, *pools);
  }
  std::vector<planner::Machines> kinds;
  for (const std::string& name : a.kinds) {
    const auto machines = planner::find_machines(name, a.network);
    if (!machines.ok()) return report_error("plan search", machines.error());
    kinds.push_back(*machines);
  }
  if (const Status status = put_prices(a, kinds); !status.ok())
    return report_error("plan search", status.error());
  FoundPlan found;
  found.model = std::move(*model);
  found.framework = *framework;
  found.batch = a.question.batch;
  return answer(found, kinds, a);
}

}  // namespace

Verb add_plan_search(CLI::App& plan) {
  CLI::App* app = plan.add_subcommand("search", "the best way to train a model on given devices");
  auto a = std::make_shared<SearchArguments>();
  app->add_option("model", a->model, "a name (--list), or a path to YAML or a config.json");
  app->add_option("--devices", a->devices, "devices in all; several numbers are compared")
      ->delimiter(',')
      ->check(whole_number_from(1, 1'000'000));
  app->add_option("--batch", a->question.batch, "samples of one step")
      ->check(whole_number_from(1, 1'000'000));
  app->add_option("--sequence", a->sequence, "tokens of a sample, instead of the model's own")
      ->check(whole_number_from(1, 100'000'000));
  app->add_option("--device", a->kinds, "device types, or paths to YAML (default h100)")
      ->delimiter(',');
  app->add_option("--price", a->prices, "of a device and hour; one, or one for each of --device")
      ->delimiter(',')
      ->check(CLI::Range(0.0, 1e9));
  app->add_option("--network", a->network, "network between nodes (default: the device's usual)");
  app->add_option("--framework", a->framework, "training software (default megatron-core)");
  app->add_option("--space", a->space, "own, or calculon: the knobs that Calculon searches")
      ->check(CLI::IsMember({"own", "calculon"}));
  app->add_option("--top", a->question.keep, "layouts to rank (default 10)")
      ->check(whole_number_from(2, 1000));
  app->add_option("--svg", a->svg, "write a Gantt chart of the best layout's pipeline");
  app->add_option("--perfetto", a->perfetto, "write a Perfetto (Chrome) trace of it");
  app->add_option("--report", a->report, "write a page of tables and pictures (HTML)");
  app->add_flag("--flags", a->flags, "print launch flags for Megatron-LM and torchrun");
  app->add_flag("--json", a->json, "print JSON");
  app->add_flag("--csv", a->csv, "print the ranked table as CSV");
  app->add_flag("--md", a->markdown, "print the ranked table as Markdown");
  app->add_flag("--list", a->list, "print the models, devices, networks and frameworks");
  return {app, [a, app] {
            a->devices_given = app->count("--devices") > 0;
            a->question.space =
                a->space == "own" ? planner::SearchSpace::kOwn : planner::SearchSpace::kCalculon;
            return run_search(*a);
          }};
}

}  // namespace weft
