// `weft net iteration`: one training iteration under flow schedulers.
#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/table.h"
#include "iteration_chart.h"
#include "net_command.h"
#include "timing/iteration/scheduler.h"

namespace weft {
namespace {

struct IterationArguments {
  std::string job, svg, trace_out;
  std::vector<std::string> schedulers;
  int iterations = 20;
  bool json = false, csv = false, markdown = false, list_schedulers = false;
};

constexpr const char* kIterationModel =
    "model: a device does one computation at a time; a message occupies its wire for its overhead, "
    "then its bytes share the links by max-min with strict ranks, and it has arrived a latency "
    "later; the next forward pass of a layer waits for its parameters; ideal: a lower bound for "
    "any "
    "scheduler, from computation, bytes per link, and what must come before and after them";

// Milliseconds, or that the job never got through.
std::string milliseconds(Seconds seconds) {
  return seconds == kNever ? "starved" : fmt::format("{:.5g}", 1e3 * seconds);
}

std::string ratio_cell(double a, double b) {
  return a == kNever || !(b > 0) ? "-" : fmt::format("{:.3f}x", a / b);
}

Table iteration_table(const TrainingFile& file, const std::vector<SchedulerRun>& runs) {
  Table table({"<scheduler", "<job", "iteration ms", "ideal ms", "above ideal", "alone ms",
               "vs alone", "vs first", "<messages"});
  for (const SchedulerRun& run : runs) {
    for (std::size_t j = 0; j < run.jobs.size(); ++j) {
      const SchedulerJob& job = run.jobs[j];
      const double above = 100 * (job.iteration / job.ideal - 1);
      table.row({run.scheduler, file.jobs[j].name, milliseconds(job.iteration),
                 milliseconds(job.ideal),
                 job.iteration == kNever ? "-" : fmt::format("{:.2f} %", above),
                 milliseconds(job.solo), ratio_cell(job.iteration, job.solo),
                 ratio_cell(job.iteration, runs[0].jobs[j].iteration), job.choice});
    }
  }
  return table;
}

double mean(const SchedulerRun& run, Seconds SchedulerJob::*value) {
  double sum = 0;
  for (const SchedulerJob& job : run.jobs) sum += job.*value;
  return sum / static_cast<double>(run.jobs.size());
}

// JSON has no infinity.
nlohmann::ordered_json finite(double value) {
  return value == kNever ? nlohmann::ordered_json() : nlohmann::ordered_json(value);
}

std::string iteration_json(const TrainingFile& file, const std::vector<SchedulerRun>& runs) {
  nlohmann::ordered_json out;
  out["schema"] = 1;
  out["model"] = kIterationModel;
  out["runs"] = nlohmann::ordered_json::array();
  for (const SchedulerRun& run : runs) {
    nlohmann::ordered_json one;
    one["scheduler"] = run.scheduler;
    one["iteration_s"] = finite(mean(run, &SchedulerJob::iteration));
    one["ideal_s"] = mean(run, &SchedulerJob::ideal);
    one["jobs"] = nlohmann::ordered_json::array();
    for (std::size_t j = 0; j < run.jobs.size(); ++j) {
      const SchedulerJob& job = run.jobs[j];
      one["jobs"].push_back({{"name", file.jobs[j].name},
                             {"iteration_s", finite(job.iteration)},
                             {"ideal_s", job.ideal},
                             {"alone_s", job.solo},
                             {"iterations", run.run.jobs[j].ends.size()},
                             {"messages", job.choice}});
    }
    out["runs"].push_back(std::move(one));
  }
  return out.dump(2) + "\n";
}

// What the best scheduler gained, and what any could have.
std::string iteration_verdict(const std::vector<SchedulerRun>& runs) {
  const auto best = std::min_element(runs.begin(), runs.end(), [](const auto& a, const auto& b) {
    return mean(a, &SchedulerJob::iteration) < mean(b, &SchedulerJob::iteration);
  });
  const double first = mean(runs[0], &SchedulerJob::iteration);
  const double ideal = mean(runs[0], &SchedulerJob::ideal);
  const double least = mean(*best, &SchedulerJob::iteration);
  if (first == kNever || least == kNever) return "a job starves: see the table\n";
  if (best == runs.begin()) {
    return fmt::format(
        "{}: {:.2f} % above the ideal; no scheduler can be more than {:.3f}x as "
        "fast\n",
        runs[0].scheduler, 100 * (first / ideal - 1), first / ideal);
  }
  return fmt::format(
      "{} beats {}: {:.3f}x as fast; the bound allows no scheduler more than "
      "{:.3f}x\n",
      best->scheduler, runs[0].scheduler, first / least, first / ideal);
}

int list_schedulers() {
  Table table({"<scheduler", "<decides", "<rule", "<values", "<source"});
  for (const WithinScheduler& one : within_schedulers()) {
    table.row({std::string(one.name), "within a job", std::string(one.rule),
               std::string(one.values), std::string(one.source)});
  }
  for (const BetweenScheduler& one : between_schedulers()) {
    table.row({std::string(one.name), "between jobs", std::string(one.rule),
               std::string(one.values), std::string(one.source)});
  }
  std::fputs(table.text().c_str(), stdout);
  return kExitDone;
}

void print_iteration(const IterationArguments& a, const TrainingFile& file,
                     const std::vector<SchedulerRun>& runs) {
  if (a.json) {
    std::fputs(iteration_json(file, runs).c_str(), stdout);
    return;
  }
  const Table table = iteration_table(file, runs);
  if (a.csv || a.markdown) {
    std::fputs((a.csv ? table.csv() : table.markdown()).c_str(), stdout);
    return;
  }
  std::fputs((table.text() + kIterationModel + "\n" + iteration_verdict(runs)).c_str(), stdout);
}

int run_iteration(const IterationArguments& a) {
  if (a.list_schedulers) return list_schedulers();
  if (a.job.empty() || a.schedulers.empty()) {
    return report_error("net iteration",
                        {ErrorKind::kInvalidInput, "--job and --scheduler are needed",
                         "weft net iteration --job job.yaml --scheduler fifo,bytescheduler"});
  }
  std::vector<FlowScheduler> schedulers;
  for (const std::string& text : a.schedulers) {
    auto scheduler = parse_flow_scheduler(text);
    if (!scheduler.ok()) return report_error("net iteration", scheduler.error());
    schedulers.push_back(std::move(scheduler).value());
  }
  const auto file = read_training_file(a.job);
  if (!file.ok()) return report_error("net iteration", file.error());
  const bool record = !a.svg.empty() || !a.trace_out.empty();
  std::vector<SchedulerRun> runs;
  for (const FlowScheduler& scheduler : schedulers) {
    runs.push_back(
        run_flow_scheduler(*file, scheduler, static_cast<std::uint32_t>(a.iterations), record));
  }
  if (!a.svg.empty()) {
    const Status written = write_file_atomically(a.svg, iteration_svg(*file, runs));
    if (!written.ok()) return report_error("net iteration", written.error());
  }
  if (!a.trace_out.empty()) {
    const Status written = write_file_atomically(a.trace_out, iteration_trace(*file, runs));
    if (!written.ok()) return report_error("net iteration", written.error());
  }
  print_iteration(a, *file, runs);
  return kExitDone;
}

}  // namespace

Verb add_net_iteration(CLI::App& net) {
  CLI::App* const app =
      net.add_subcommand("iteration", "time training iterations under flow schedulers");
  auto a = std::make_shared<IterationArguments>();
  app->add_option("--job", a->job, "jobs and links as YAML (docs/formats.md)");
  app->add_option("--scheduler", a->schedulers,
                  "WITHIN, BETWEEN or WITHIN+BETWEEN (docs/flows.md), comma separated")
      ->delimiter(',');
  app->add_option("--iterations", a->iterations, "of each job; the second half is measured")
      ->check(CLI::Range(2, 10000));
  app->add_option("--svg", a->svg, "write the last iterations as a chart");
  app->add_option("--perfetto", a->trace_out, "write all iterations for ui.perfetto.dev (JSON)");
  add_old_option(*app, "--trace-out", a->trace_out);
  app->add_flag("--json", a->json, "print JSON");
  app->add_flag("--csv", a->csv, "print the table as CSV");
  app->add_flag("--md", a->markdown, "print the table as Markdown");
  app->add_flag("--list-schedulers", a->list_schedulers,
                "print every scheduler with its rule's source");
  return {app, [a] { return run_iteration(*a); }};
}

}  // namespace weft
