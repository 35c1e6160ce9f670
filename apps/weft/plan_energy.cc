// `weft plan energy`: how much energy a pipeline saves by slowing what nothing waits for.
#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/progress.h"
#include "base/stopwatch.h"
#include "base/table.h"
#include "energy_chart.h"
#include "option_checks.h"
#include "pipeline/costs.h"
#include "pipeline/schedule_json.h"
#include "pipeline/schedules.h"
#include "plan_command.h"
#include "planner/energy/energy.h"

namespace weft {
namespace {

using nlohmann::ordered_json;

constexpr std::uint64_t kMaxClockText = std::uint64_t{16} << 20;

struct EnergyArguments {
  std::string schedule, read, choices, svg, write;
  pipeline::Request request;
  std::vector<double> times = {1, 1, 1}, chunk_scale, deadlines;
  double transfer = 0, time_limit_s = 0;
  planner::ClockModel model = {{1, 0.9, 0.8, 0.7, 0.6, 0.5}, 1, 0, 0};
  int points = 9;
  bool json = false, csv = false, markdown = false;
};

Error bad_input(std::string what, std::string hint = "") {
  return {ErrorKind::kInvalidInput, std::move(what), std::move(hint)};
}

Result<pipeline::Schedule> find_schedule(const EnergyArguments& a) {
  if (a.schedule.empty() == a.read.empty()) {
    return bad_input("--schedule or --read is needed, and not both",
                     "weft plan energy --schedule 1f1b --stages 4 --microbatches 8 --watts 400");
  }
  if (!a.read.empty()) {
    const auto text = read_file(a.read, pipeline::kMaxScheduleText);
    if (!text.ok()) return text.error();
    auto schedule = pipeline::parse_schedule(*text);
    if (!schedule.ok())
      return bad_input(a.read + ": " + schedule.error().what, schedule.error().hint);
    return schedule;
  }
  auto schedule = pipeline::generate(a.schedule, a.request);
  if (!schedule.ok()) return schedule;
  pipeline::Costs costs =
      even_costs(*schedule, {a.times[0], a.times[1], a.times[2], a.model.watts});
  if (!a.chunk_scale.empty()) {
    const pipeline::ChunkCost each = costs.chunks[0];
    costs.chunks.clear();
    for (const double scale : a.chunk_scale) {
      costs.chunks.push_back({each.forward * scale, each.backward_input * scale,
                              each.weight_gradient * scale, each.watts});
    }
  }
  costs.transfer = a.transfer;
  if (const Status status = apply_costs(*schedule, costs); !status.ok()) return status.error();
  return schedule;
}

Result<planner::ClockTable> find_clocks(const EnergyArguments& a,
                                        const pipeline::Schedule& schedule) {
  if (a.choices.empty()) {
    if (!(a.model.watts > a.model.idle_watts)) {
      return bad_input(fmt::format("--watts is {} and --idle-watts {}; computing must draw more",
                                   a.model.watts, a.model.idle_watts),
                       "or give measured choices: --choices FILE.csv");
    }
    return planner::model_clocks(schedule, a.model);
  }
  const auto text = read_file(a.choices, kMaxClockText);
  if (!text.ok()) return text.error();
  return planner::parse_clocks(*text, a.choices);
}

Table energy_table(const planner::EnergyFrontier& f) {
  Table table({"<clocks", "seconds", "slower %", "joules", "saved %", "bound saves %"});
  const auto row = [&](const std::string& name, double seconds, double joules, double bound) {
    table.row({name, fmt::format("{:.6g}", seconds),
               fmt::format("{:.2f}", 100 * (seconds / f.fastest_s - 1)),
               fmt::format("{:.6g}", joules),
               fmt::format("{:.2f}", 100 * (1 - joules / f.fastest_joules)),
               fmt::format("{:.2f}", 100 * (1 - bound / f.fastest_joules))});
  };
  row("all highest", f.fastest_s, f.fastest_joules, f.fastest_joules);
  for (const planner::EnergyPoint& point : f.points) {
    row("chosen", point.seconds, point.joules, point.bound_joules);
  }
  return table;
}

std::string energy_json(const pipeline::Schedule& schedule, const planner::EnergyFrontier& f) {
  ordered_json points = ordered_json::array();
  for (const planner::EnergyPoint& point : f.points) {
    points.push_back({{"seconds", point.seconds},
                      {"joules", point.joules},
                      {"bound_joules", point.bound_joules},
                      {"clocks", point.clocks}});
  }
  const ordered_json out = {{"schema", 1},
                            {"schedule", schedule.name},
                            {"fastest_s", f.fastest_s},
                            {"fastest_joules", f.fastest_joules},
                            {"cheapest_s", f.cheapest_s},
                            {"stopped", f.stopped},
                            {"points", std::move(points)}};
  return out.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

std::string energy_verdict(const planner::EnergyFrontier& f) {
  const auto best = std::min_element(f.points.begin(), f.points.end(),
                                     [](auto& a, auto& b) { return a.joules < b.joules; });
  const auto saved = [&](const planner::EnergyPoint& point) {
    return 100 * (1 - point.joules / f.fastest_joules);
  };
  return (f.stopped ? "stopped at the time limit: faster points are missing\n" : "") +
         fmt::format(
             "{:.2f} % less energy at {:.2f} % more time; the least is {:.2f} % less at {:.2f} % "
             "more\n",
             saved(f.points[0]), 100 * (f.points[0].seconds / f.fastest_s - 1), saved(*best),
             100 * (best->seconds / f.fastest_s - 1));
}

int run_energy(const EnergyArguments& a) {
  auto schedule = find_schedule(a);
  if (!schedule.ok()) return report_error("plan energy", schedule.error());
  if (a.read.empty() || a.model.idle_watts > 0) schedule->idle_watts = a.model.idle_watts;
  const auto table = find_clocks(a, *schedule);
  if (!table.ok()) return report_error("plan energy", table.error());
  ProgressLine progress;
  const double began = thread_cpu_seconds();
  const auto frontier =
      planner::energy_frontier(*schedule, *table, a.points, a.deadlines, [&](double part) {
        progress.show(part, 1, "from the cheapest clocks to the fastest");
        return a.time_limit_s <= 0 || thread_cpu_seconds() - began < a.time_limit_s;
      });
  if (!frontier.ok()) return report_error("plan energy", frontier.error());
  if (!(frontier->fastest_joules > 0))
    return report_error("plan energy", bad_input("no operation takes any energy"));
  if (!a.write.empty() && frontier->points.size() != 1) {
    return report_error(
        "plan energy",
        bad_input(fmt::format("--write takes one point; there are {}", frontier->points.size()),
                  "give one --deadline"));
  }
  Status status;
  if (!a.svg.empty()) {
    status = write_file_atomically(a.svg, energy_svg(schedule->name, *frontier));
  }
  if (status.ok() && !a.write.empty()) {
    status = write_file_atomically(a.write, write_schedule(frontier->points[0].chosen));
  }
  if (!status.ok()) return report_error("plan energy", status.error());
  const Table rows = energy_table(*frontier);
  const std::string text = a.json       ? energy_json(*schedule, *frontier)
                           : a.csv      ? rows.csv()
                           : a.markdown ? rows.markdown()
                                        : rows.text() + energy_verdict(*frontier);
  std::fputs(text.c_str(), stdout);
  return kExitDone;
}

void add_schedule(CLI::App& app, EnergyArguments& a) {
  app.add_option("--schedule", a.schedule, "a schedule of `weft plan pipeline`");
  app.add_option("--read", a.read, "a schedule as JSON (docs/pipelines.md)");
  app.add_option("--stages", a.request.stages, "devices in a row");
  app.add_option("--microbatches", a.request.micro_batches, "micro-batches of the batch");
  app.add_option("--chunks", a.request.chunks, "chunks per device (interleaved, hanayo)");
  app.add_option("--times", a.times, "forward,backward-input,weight-gradient at the highest clock")
      ->delimiter(',')
      ->expected(3)
      ->check(number_from(0, 1e9));
  app.add_option("--chunk-scale", a.chunk_scale, "uneven stages: a factor for each chunk's times")
      ->delimiter(',')
      ->check(number_from(0, 1e6));
  app.add_option("--transfer", a.transfer, "time of a transfer between chunks")
      ->check(number_from(0, 1e9));
}

}  // namespace

Verb add_plan_energy(CLI::App& plan) {
  CLI::App* app = plan.add_subcommand("energy", "what a pipeline saves by lower clocks");
  auto a = std::make_shared<EnergyArguments>();
  add_schedule(*app, *a);
  app->add_option("--choices", a->choices, "measured times and energies by clock, as CSV");
  app->add_option("--watts", a->model.watts, "of a device that computes at the highest clock")
      ->check(number_from(0, 1e6));
  app->add_option("--idle-watts", a->model.idle_watts, "of a device that waits")
      ->check(number_from(0, 1e6));
  app->add_option("--clocks", a->model.clocks, "parts of the highest clock (default 1,0.9,...,0.5)")
      ->delimiter(',')
      ->check(number_from(0.01, 1));
  app->add_option("--clock-bound", a->model.bound,
                  "part of an operation's time that follows the clock (default 1)")
      ->check(number_from(0, 1));
  app->add_option("--points", a->points, "of the frontier (default 9)")
      ->check(whole_number_from(1, 1000));
  app->add_option("--deadline", a->deadlines, "seconds per step, in place of --points")
      ->delimiter(',')
      ->check(number_from(0, 1e9));
  app->add_option("--time-limit", a->time_limit_s,
                  "CPU seconds after which it ends with what it has (default: none)")
      ->check(number_from(0, 1e9));
  app->add_option("--svg", a->svg, "draw the frontier");
  app->add_option("--write", a->write, "with one --deadline: the schedule at the chosen clocks");
  app->add_flag("--json", a->json, "print JSON");
  app->add_flag("--csv", a->csv, "print the table as CSV");
  app->add_flag("--md", a->markdown, "print the table as Markdown");
  return {app, [a] { return run_energy(*a); }};
}

}  // namespace weft
