// `weft plan calibrate`: the few constants that cannot be looked up, fitted to measured runs.
#include <fmt/core.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/table.h"
#include "option_checks.h"
#include "plan_command.h"
#include "planner/calibrate.h"

namespace weft {
namespace {

using nlohmann::ordered_json;

struct CalibrateArguments {
  std::vector<std::string> files, sets;
  planner::CalibrateOptions options;
  bool json = false, markdown = false;
};

ordered_json errors_by_set(const std::vector<planner::ErrorSummary>& list) {
  ordered_json out = ordered_json::object();
  for (const planner::ErrorSummary& s : list) {
    out[s.set] = {{"rows", s.rows},
                  {"mean_abs_error_pct", s.mean_abs_pct},
                  {"max_abs_error_pct", s.max_abs_pct},
                  {"median_ratio", s.median_ratio}};
  }
  return out;
}

std::string calibration_json(const planner::Calibration& c) {
  ordered_json out = {{"schema", 1}, {"folds", c.folds}, {"constants", ordered_json::array()}};
  for (const planner::Constant& one : c.constants) {
    out["constants"].push_back({{"owner", one.owner},
                                {"name", one.name},
                                {"meaning", one.meaning},
                                {"before", one.before},
                                {"after", one.after}});
  }
  out["before"] = errors_by_set(c.before);
  out["fit"] = errors_by_set(c.fit);
  out["held_out"] = errors_by_set(c.held_out);
  return out.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

Table constants_table(const planner::Calibration& c) {
  Table table({"<of", "<constant", "before", "fitted", "<meaning"});
  for (const planner::Constant& one : c.constants) {
    table.row({one.owner, one.name, fmt::format("{:.3g}", one.before),
               fmt::format("{:.3g}", one.after), one.meaning});
  }
  return table;
}

Table fit_table(const planner::Calibration& c) {
  Table table(
      {"<rows of", "rows", "before %", "fit %", fmt::format("{}-fold by model %", c.folds), "gap"});
  for (std::size_t i = 0; i < c.fit.size(); ++i) {
    table.row({c.fit[i].set, fmt::format("{}", c.fit[i].rows),
               fmt::format("{:.2f}", c.before[i].mean_abs_pct),
               fmt::format("{:.2f}", c.fit[i].mean_abs_pct),
               fmt::format("{:.2f}", c.held_out[i].mean_abs_pct),
               fmt::format("{:+.2f}", c.held_out[i].mean_abs_pct - c.fit[i].mean_abs_pct)});
  }
  return table;
}

int run_calibrate(const CalibrateArguments& a) {
  const auto runs = read_run_files(a.files, a.sets);
  if (!runs.ok()) return report_error("plan calibrate", runs.error());
  const auto calibration = planner::calibrate(*runs, a.options);
  if (!calibration.ok()) return report_error("plan calibrate", calibration.error());
  const Table constants = constants_table(*calibration), errors = fit_table(*calibration);
  const std::string text = a.json       ? calibration_json(*calibration)
                           : a.markdown ? constants.markdown() + "\n" + errors.markdown()
                                        : constants.text() + "\n" + errors.text();
  std::fputs(text.c_str(), stdout);
  return kExitDone;
}

}  // namespace

Verb add_plan_calibrate(CLI::App& plan) {
  CLI::App* app = plan.add_subcommand(
      "calibrate", "fit hardware and framework constants to measured runs, with cross-validation");
  auto a = std::make_shared<CalibrateArguments>();
  app->add_option("files", a->files, "CSV files of measured runs")->required();
  app->add_option("--sets", a->sets, "only rows of these sets, comma separated")->delimiter(',');
  app->add_option("--folds", a->options.folds, "folds of the cross-validation by model (default 5)")
      ->check(whole_number_from(2, 100));
  app->add_option("--trials", a->options.trials, "sets of constants tried per fit (default 1500)")
      ->check(whole_number_from(10, 1'000'000));
  app->add_flag("--json", a->json, "print JSON");
  app->add_flag("--md", a->markdown, "print Markdown");
  return {app, [a] { return run_calibrate(*a); }};
}

}  // namespace weft
