// `weft plan compare`: our answers beside Calculon's, and what explains the differences.
#include <fmt/core.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/table.h"
#include "plan_command.h"
#include "planner/peer_sample.h"

namespace weft {
namespace {

using nlohmann::ordered_json;

struct CompareArguments {
  std::string file, model, device = "a100-80", framework = "megatron-lm";
  bool json = false, markdown = false;
};

constexpr std::uint64_t kMaxBytes = std::uint64_t{256} << 20;

ordered_json describe_blame(const std::vector<planner::Blamed>& blamed) {
  ordered_json all = ordered_json::array();
  for (const planner::Blamed& one : blamed) {
    all.push_back({{"term", one.term},
                   {"rows", one.rows},
                   {"median_ratio", one.ratio},
                   {"median_ratio_without", one.ratio_without}});
  }
  return all;
}

std::string comparison_json(const planner::PeerComparison& c) {
  const ordered_json out = {{"schema", 1},
                            {"rows", c.rows},
                            {"both_fit", c.both_fit},
                            {"neither_fits", c.neither_fits},
                            {"ours_alone_fits", c.ours_alone_fits},
                            {"theirs_alone_fits", c.theirs_alone_fits},
                            {"within_20_pct", c.near},
                            {"median_ratio", c.median_ratio},
                            {"median_ratio_all_taken_over", c.all_taken_over},
                            {"time", describe_blame(c.time)},
                            {"fit", describe_blame(c.fit)}};
  return out.dump(2) + "\n";
}

Table blame_table(const planner::PeerComparison& c) {
  Table table({"<difference", "<explained by", "rows", "ours / theirs", "without it"});
  for (const planner::Blamed& one : c.fit) {
    table.row({"fits", one.term, fmt::format("{}", one.rows), "", ""});
  }
  for (const planner::Blamed& one : c.time) {
    table.row({"time, more than 20 %", one.term, fmt::format("{}", one.rows),
               fmt::format("{:.2f}", one.ratio), fmt::format("{:.2f}", one.ratio_without)});
  }
  return table;
}

int run_compare(const CompareArguments& a) {
  const auto text = read_file(a.file, kMaxBytes);
  if (!text.ok()) return report_error("plan compare", text.error());
  const auto rows = planner::read_peer_rows({a.file, *text});
  if (!rows.ok()) return report_error("plan compare", rows.error());
  const auto model = planner::find_transformer(a.model);
  if (!model.ok()) return report_error("plan compare", model.error());
  const auto machines = planner::find_machines(a.device, "");
  if (!machines.ok()) return report_error("plan compare", machines.error());
  const auto framework = planner::find_framework(a.framework);
  if (!framework.ok()) return report_error("plan compare", framework.error());
  const planner::PeerComparison c =
      planner::compare_with_peer({*model, *machines, *framework}, *rows);
  if (a.json) {
    std::fputs(comparison_json(c).c_str(), stdout);
    return kExitDone;
  }
  const Table table = blame_table(c);
  const std::string said = fmt::format(
      "{} configurations: {} fit for both, {} for neither, {} for us alone, {} for Calculon alone\n"
      "time: {} of {} within 20 %, median ours / theirs {:.2f}; with all their terms {:.2f}\n",
      c.rows, c.both_fit, c.neither_fits, c.ours_alone_fits, c.theirs_alone_fits, c.near,
      c.both_fit, c.median_ratio, c.all_taken_over);
  std::fputs(((a.markdown ? table.markdown() : table.text()) + "\n" + said).c_str(), stdout);
  return kExitDone;
}

}  // namespace

Verb add_plan_compare(CLI::App& plan) {
  CLI::App* app =
      plan.add_subcommand("compare", "our answers beside Calculon's, and what explains the rest");
  auto a = std::make_shared<CompareArguments>();
  app->add_option("sample", a->file, "CSV of configurations with Calculon's answers")->required();
  app->add_option("--model", a->model, "the model they are of")->required();
  app->add_option("--device", a->device, "the device they are of (default a100-80)");
  app->add_option("--framework", a->framework, "training software (default megatron-lm)");
  app->add_flag("--json", a->json, "print JSON");
  app->add_flag("--md", a->markdown, "print the table as Markdown");
  return {app, [a] { return run_compare(*a); }};
}

}  // namespace weft
