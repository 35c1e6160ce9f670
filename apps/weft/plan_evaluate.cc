// `weft plan evaluate`: predictions for given runs, beside what was measured.
#include <fmt/core.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/table.h"
#include "plan_command.h"
#include "planner/evaluate.h"

namespace weft {
namespace {

using nlohmann::ordered_json;

struct EvaluateArguments {
  std::vector<std::string> files, sets;
  std::string terms = "own";
  bool json = false, csv = false, markdown = false, rows = false;
};

ordered_json number_or_null(const std::optional<double>& value) {
  return value ? ordered_json(*value) : ordered_json(nullptr);
}

ordered_json describe_time(const planner::StepTime& t) {
  return {{"compute_s", t.compute}, {"recompute_s", t.recompute}, {"tensor_s", t.tensor},
          {"expert_s", t.expert},   {"pipeline_s", t.pipeline},   {"data_s", t.data},
          {"bubble_s", t.bubble},   {"host_s", t.host},           {"optimizer_s", t.optimizer},
          {"offload_s", t.offload}, {"other_s", t.other}};
}

ordered_json describe_row(const planner::TrainingRun& run, const planner::Prediction& p) {
  const double time = p.time.total();
  std::optional<double> error, memory_error;
  if (run.measured_s) error = planner::error_pct(time, *run.measured_s);
  if (run.measured_memory_bytes) {
    memory_error = planner::error_pct(p.memory_part_bytes, *run.measured_memory_bytes);
  }
  return {{"line", run.line},
          {"set", run.set},
          {"model", run.label},
          {"devices", run.layout.devices()},
          {"layout", planner::describe(run.layout)},
          {"framework", run.framework.name},
          {"predicted_s", time},
          {"measured_s", number_or_null(run.measured_s)},
          {"error_pct", number_or_null(error)},
          {"memory_bytes", p.memory_part_bytes},
          {"measured_memory_bytes", number_or_null(run.measured_memory_bytes)},
          {"memory_error_pct", number_or_null(memory_error)},
          {"breakdown", describe_time(p.time)}};
}

ordered_json describe_errors(const planner::ErrorSummary& s) {
  return {{"rows", s.rows},
          {"mean_abs_error_pct", s.mean_abs_pct},
          {"max_abs_error_pct", s.max_abs_pct},
          {"median_ratio", s.median_ratio}};
}

std::string evaluation_json(const std::vector<planner::TrainingRun>& runs,
                            const std::vector<planner::Prediction>& predictions) {
  ordered_json out = {{"schema", 1}, {"rows", ordered_json::array()}};
  for (std::size_t i = 0; i < runs.size(); ++i) {
    out["rows"].push_back(describe_row(runs[i], predictions[i]));
  }
  const auto put = [&](const char* all, const char* sets,
                       const std::vector<planner::ErrorSummary>& list) {
    for (const planner::ErrorSummary& one : list) {
      if (&one == &list.front()) {
        out[all] = describe_errors(one);
      } else {
        out[sets][one.set] = describe_errors(one);
      }
    }
  };
  put("summary", "sets", planner::time_errors(runs, predictions));
  put("memory_summary", "memory_sets", planner::memory_errors(runs, predictions));
  const planner::ChoiceSummary choice = planner::choices(runs, predictions);
  if (choice.groups > 0) {
    out["choice"] = {{"groups", choice.groups},
                     {"mean_regret_pct", choice.mean_regret_pct},
                     {"max_regret_pct", choice.max_regret_pct},
                     {"kendall_tau", choice.mean_tau}};
  }
  return out.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

std::string optional_cell(const std::optional<double>& value, double scale = 1) {
  return value ? three_digits(*value * scale) : "";
}

Table rows_table(const std::vector<planner::TrainingRun>& runs,
                 const std::vector<planner::Prediction>& predictions) {
  Table table({"line", "<set", "<model", "devices", "<layout", "predicted s", "measured s",
               "error %", "memory GB", "measured GB"});
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const planner::TrainingRun& run = runs[i];
    const double time = predictions[i].time.total();
    table.row(
        {fmt::format("{}", run.line), run.set, run.label, fmt::format("{}", run.layout.devices()),
         planner::describe(run.layout), three_digits(time), optional_cell(run.measured_s),
         run.measured_s ? fmt::format("{:+.1f}", planner::error_pct(time, *run.measured_s)) : "",
         three_digits(predictions[i].memory_part_bytes / 1e9),
         optional_cell(run.measured_memory_bytes, 1e-9)});
  }
  return table;
}

Table accuracy_table(const std::vector<planner::TrainingRun>& runs,
                     const std::vector<planner::Prediction>& predictions) {
  Table table({"<rows of", "<what", "rows", "mean abs error %", "max %", "median ratio"});
  const auto put = [&](const char* what, const std::vector<planner::ErrorSummary>& list) {
    for (const planner::ErrorSummary& s : list) {
      table.row({s.set, what, fmt::format("{}", s.rows), fmt::format("{:.2f}", s.mean_abs_pct),
                 fmt::format("{:.1f}", s.max_abs_pct), fmt::format("{:.3f}", s.median_ratio)});
    }
  };
  put("time", planner::time_errors(runs, predictions));
  put("memory", planner::memory_errors(runs, predictions));
  return table;
}

std::string choice_verdict(const std::vector<planner::TrainingRun>& runs,
                           const std::vector<planner::Prediction>& predictions) {
  const planner::ChoiceSummary c = planner::choices(runs, predictions);
  if (c.groups == 0) return "";
  return fmt::format(
      "choice among measured layouts, {} groups of one model and number of devices: regret {:.2f} "
      "% "
      "(at most {:.1f} %), Kendall tau {:.3f}\n",
      c.groups, c.mean_regret_pct, c.max_regret_pct, c.mean_tau);
}

int run_evaluate(const EvaluateArguments& a) {
  const auto read = read_run_files(a.files, a.sets);
  if (!read.ok()) return report_error("plan evaluate", read.error());
  const std::vector<planner::TrainingRun>& runs = *read;
  const planner::MemoryTerms terms =
      a.terms == "paper" ? planner::MemoryTerms::kPaper : planner::MemoryTerms::kOwn;
  const std::vector<planner::Prediction> predictions = planner::predict(runs, terms);
  if (a.json) {
    std::fputs(evaluation_json(runs, predictions).c_str(), stdout);
    return kExitDone;
  }
  const Table rows = rows_table(runs, predictions), errors = accuracy_table(runs, predictions);
  std::string text;
  if (a.csv) {
    text = a.rows ? rows.csv() : errors.csv();
  } else if (a.markdown) {
    text = a.rows ? rows.markdown() : errors.markdown();
  } else {
    text = rows.text() + "\n" + errors.text() + choice_verdict(runs, predictions);
  }
  std::fputs(text.c_str(), stdout);
  return kExitDone;
}

}  // namespace

Verb add_plan_evaluate(CLI::App& plan) {
  CLI::App* app =
      plan.add_subcommand("evaluate", "predict given runs, and the error where measured");
  auto a = std::make_shared<EvaluateArguments>();
  app->add_option("files", a->files, "CSV files of runs (docs/planner.md lists the columns)")
      ->required();
  app->add_option("--sets", a->sets, "only rows of these sets, comma separated")->delimiter(',');
  app->add_option("--memory-terms", a->terms,
                  "own: all that a device holds; paper: the terms of Korthikanti et al. 2022 alone")
      ->check(CLI::IsMember({"own", "paper"}));
  app->add_flag("--json", a->json, "print JSON");
  app->add_flag("--rows", a->rows, "with --csv or --md: the rows instead of the summary");
  app->add_flag("--csv", a->csv, "print CSV");
  app->add_flag("--md", a->markdown, "print Markdown");
  return {app, [a] { return run_evaluate(*a); }};
}

}  // namespace weft
