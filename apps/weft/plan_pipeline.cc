// `weft plan pipeline`: pipeline schedules, made or read, proved and timed.
#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/table.h"
#include "pipeline/costs.h"
#include "pipeline/recording.h"
#include "pipeline/schedule_json.h"
#include "pipeline/schedules.h"
#include "pipeline/search.h"
#include "pipeline/transforms.h"
#include "pipeline/verify.h"
#include "pipeline_chart.h"
#include "plan_command.h"
#include "plan_trace.h"

namespace weft {
namespace {

struct PipelineArguments {
  std::vector<std::string> schedules;
  pipeline::Request request;
  std::vector<double> times = {1, 1, 1};
  std::vector<double> chunk_scale, slowdown, limits;
  double transfer = 0, offload = 0, optimizer = 0, overlapped = 1, recompute = 0;
  double watts = 0, idle_watts = 0;
  std::string read, svg, perfetto, write;
  TraceArguments trace;
  bool recomputes = false, json = false, csv = false, markdown = false, list_schedules = false;
};

constexpr const char* kPipelineModel =
    "model: each device runs its list in order and waits only for data; transfers run beside "
    "computation; one activation is what one micro-batch holds on a device's whole share";

// The times of the command line, for a schedule whose chunks are known.
Result<pipeline::Schedule> with_times(const PipelineArguments& a, pipeline::Schedule schedule) {
  pipeline::Costs costs =
      pipeline::even_costs(schedule, {a.times[0], a.times[1], a.times[2], a.watts});
  if (!a.chunk_scale.empty()) {
    const pipeline::ChunkCost each = costs.chunks[0];
    costs.chunks.clear();
    for (const double scale : a.chunk_scale) {
      costs.chunks.push_back({each.forward * scale, each.backward_input * scale,
                              each.weight_gradient * scale, each.watts});
    }
  }
  costs.slowdown = a.slowdown;
  costs.transfer = a.transfer;
  costs.offload = a.offload;
  costs.optimizer = a.optimizer;
  costs.overlapped = a.overlapped;
  costs.idle_watts = a.idle_watts;
  const Status status = pipeline::apply_costs(schedule, costs);
  if (!status.ok()) return status.error();
  return schedule;
}

Result<pipeline::Schedule> searched(const PipelineArguments& a) {
  if (a.limits.size() > 1 || !a.chunk_scale.empty()) {
    return Error{ErrorKind::kInvalidInput,
                 "search takes one --limit for all devices, and no --chunk-scale",
                 "search chooses the number of chunks itself"};
  }
  const double limit = a.limits.empty() ? a.request.stages : a.limits[0];
  return pipeline::search_schedule({.stages = a.request.stages,
                                    .micro_batches = a.request.micro_batches,
                                    .limit = limit,
                                    .share = {a.times[0], a.times[1], a.times[2], a.watts},
                                    .slowdown = a.slowdown,
                                    .transfer = a.transfer,
                                    .optimizer = a.optimizer,
                                    .idle_watts = a.idle_watts});
}

Result<pipeline::Schedule> make(const PipelineArguments& a, const std::string& name) {
  auto schedule = name == "search" ? searched(a) : pipeline::generate(name, a.request);
  if (schedule.ok() && name != "search") schedule = with_times(a, std::move(*schedule));
  if (schedule.ok() && a.recomputes) {
    schedule = pipeline::with_recomputation(std::move(*schedule), a.recompute);
  }
  return schedule;
}

// Whether all devices keep to --limit; tells the user about those that do not.
bool fits(const PipelineArguments& a, const TimedPipeline& run) {
  const std::vector<double>& peaks = run.timeline.peak_activations;
  bool all = true;
  for (std::size_t d = 0; d < peaks.size() && !a.limits.empty(); ++d) {
    const double limit = a.limits[a.limits.size() == 1 ? 0 : d];
    if (peaks[d] <= limit * (1 + 1e-9)) continue;
    all = false;
    std::fputs(fmt::format("{}: device {} holds up to {:.4g} activations; the limit is {:.4g}\n",
                           run.schedule.name, d, peaks[d], limit)
                   .c_str(),
               stderr);
  }
  return all;
}

Result<std::vector<TimedPipeline>> solve_all(const PipelineArguments& a) {
  std::vector<TimedPipeline> runs;
  const auto put = [&](Result<pipeline::Schedule> schedule, const std::string& name) -> Status {
    if (!schedule.ok()) return schedule.error();
    if (const Status status = pipeline::verify(*schedule); !status.ok()) {
      return Error{status.error().kind, name + ": " + status.error().what, status.error().hint};
    }
    if (a.limits.size() > 1 && a.limits.size() != schedule->programs.size()) {
      return Error{ErrorKind::kInvalidInput,
                   fmt::format("--limit has {} values; {} has {} devices", a.limits.size(), name,
                               schedule->devices),
                   "give one for all, or one for each device"};
    }
    auto timeline = pipeline::solve(*schedule);
    if (!timeline.ok()) return timeline.error();
    runs.push_back({std::move(*schedule), std::move(*timeline)});
    return {};
  };
  if (!a.read.empty()) {
    const auto text = read_file(a.read, pipeline::kMaxScheduleText);
    if (!text.ok()) return text.error();
    if (const Status status = put(pipeline::parse_schedule(*text), a.read); !status.ok()) {
      return Error{status.error().kind, a.read + ": " + status.error().what, status.error().hint};
    }
  }
  for (const std::string& name : a.schedules) {
    if (const Status status = put(make(a, name), name); !status.ok()) return status.error();
  }
  return runs;
}

double most(const std::vector<double>& list) { return *std::max_element(list.begin(), list.end()); }

nlohmann::ordered_json describe_run(const TimedPipeline& run) {
  const pipeline::Timeline& t = run.timeline;
  return {{"schedule", run.schedule.name},
          {"devices", run.schedule.devices},
          {"chunks", run.schedule.chunks},
          {"micro_batches", run.schedule.micro_batches},
          {"slices", run.schedule.slices},
          {"makespan", t.makespan},
          {"idle_fraction", t.idle_fraction},
          {"span_idle_fraction", t.span_idle_fraction},
          {"idle", t.idle},
          {"span_idle", t.span_idle},
          {"peak_activations", t.peak_activations},
          {"joules", t.joules},
          {"total_joules", t.total_joules},
          {"weight_versions", run.schedule.weight_versions},
          {"staleness", run.schedule.staleness}};
}

std::string pipeline_json(const std::vector<TimedPipeline>& runs) {
  nlohmann::ordered_json out = {{"schema", 1}};
  if (runs.size() == 1) {
    out.update(describe_run(runs[0]));
  } else {
    out["schedules"] = nlohmann::ordered_json::array();
    for (const TimedPipeline& run : runs) out["schedules"].push_back(describe_run(run));
  }
  return out.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

Table pipeline_table(const std::vector<TimedPipeline>& runs) {
  std::vector<std::string> headings = {"<schedule",       "makespan",       "vs first",
                                       "idle %",          "idle in span %", "peak activations",
                                       "weight versions", "staleness"};
  const bool energy = std::any_of(runs.begin(), runs.end(), [](const TimedPipeline& run) {
    return run.timeline.total_joules > 0;
  });
  if (energy) headings.push_back("energy J");
  Table table(headings);
  for (const TimedPipeline& run : runs) {
    const pipeline::Timeline& t = run.timeline;
    std::vector<std::string> cells = {
        run.schedule.name,
        fmt::format("{:.5g}", t.makespan),
        fmt::format("{:.3f}x", t.makespan / runs[0].timeline.makespan),
        fmt::format("{:.2f}", 100 * t.idle_fraction),
        fmt::format("{:.2f}", 100 * t.span_idle_fraction),
        fmt::format("{:.4g}", most(t.peak_activations)),
        fmt::format("{}", run.schedule.weight_versions),
        fmt::format("{}", run.schedule.staleness)};
    if (energy) cells.push_back(fmt::format("{:.5g}", t.total_joules));
    table.row(std::move(cells));
  }
  return table;
}

std::string pipeline_verdict(const std::vector<TimedPipeline>& runs) {
  const auto best = std::min_element(runs.begin(), runs.end(), [](const auto& a, const auto& b) {
    return a.timeline.makespan < b.timeline.makespan;
  });
  if (best == runs.begin()) {
    return fmt::format("{}: {:.2f} % idle, {:.4g} activations at most\n", best->schedule.name,
                       100 * best->timeline.idle_fraction, most(best->timeline.peak_activations));
  }
  return fmt::format(
      "{} beats {}: {:.3f}x as fast, with {:.2f}x its peak activations\n", best->schedule.name,
      runs[0].schedule.name, runs[0].timeline.makespan / best->timeline.makespan,
      most(best->timeline.peak_activations) / most(runs[0].timeline.peak_activations));
}

int list_schedules() {
  Table table({"<schedule", "<rule", "<source"});
  for (const pipeline::Generator& one : pipeline::generators()) {
    table.row({std::string(one.name), std::string(one.rule), std::string(one.source)});
  }
  table.row({"search", "the fastest found under --limit (default: the stages) for --times",
             "own, in the manner of Qi 2024"});
  std::fputs(table.text().c_str(), stdout);
  return kExitDone;
}

Status write_files(const PipelineArguments& a, const std::vector<TimedPipeline>& runs) {
  Status status;
  if (!a.svg.empty()) status = write_file_atomically(a.svg, pipeline_svg(runs));
  if (status.ok() && !a.perfetto.empty()) {
    std::vector<pipeline::Recording> recordings;
    for (const TimedPipeline& one : runs) {
      recordings.push_back(pipeline::record(one.schedule, one.timeline));
    }
    status = write_file_atomically(a.perfetto, pipeline::write_recordings(recordings));
  }
  if (!status.ok() || a.write.empty()) return status;
  if (runs.size() != 1) {
    return Error{ErrorKind::kInvalidInput,
                 fmt::format("--write takes one schedule; {} are named", runs.size()), ""};
  }
  return write_file_atomically(a.write, pipeline::write_schedule(runs[0].schedule));
}

int run_pipeline(const PipelineArguments& a) {
  if (a.list_schedules) return list_schedules();
  if (!a.trace.file.empty()) {
    if (!a.schedules.empty() || !a.read.empty() || !a.write.empty()) {
      return report_error("plan pipeline", {ErrorKind::kInvalidInput,
                                            "--recording tells the schedule and its times itself",
                                            "leave out --schedule, --read and --write"});
    }
    return run_plan_trace(a.trace);
  }
  if (a.schedules.empty() && a.read.empty()) {
    return report_error("plan pipeline",
                        {ErrorKind::kInvalidInput, "--schedule, --read or --recording is needed",
                         "weft plan pipeline --schedule 1f1b,zb-h1 --stages 4 --microbatches 8"});
  }
  const auto runs = solve_all(a);
  if (!runs.ok()) return report_error("plan pipeline", runs.error());
  if (const Status status = write_files(a, *runs); !status.ok())
    return report_error("plan pipeline", status.error());
  const Table table = pipeline_table(*runs);
  const std::string text = a.json  ? pipeline_json(*runs)
                           : a.csv ? table.csv()
                           : a.markdown
                               ? table.markdown()
                               : table.text() + kPipelineModel + "\n" + pipeline_verdict(*runs);
  std::fputs(text.c_str(), stdout);
  bool all_fit = true;
  for (const TimedPipeline& one : *runs) all_fit = fits(a, one) && all_fit;
  return all_fit ? kExitDone : kExitNo;
}

void add_times(CLI::App& app, PipelineArguments& a) {
  app.add_option("--times", a.times,
                 "forward,backward-input,weight-gradient of a device's share (default 1,1,1)")
      ->delimiter(',')
      ->expected(3)
      ->check(CLI::NonNegativeNumber);
  app.add_option("--chunk-scale", a.chunk_scale, "uneven stages: a factor for each chunk's times")
      ->delimiter(',')
      ->check(CLI::NonNegativeNumber);
  app.add_option("--slowdown", a.slowdown, "unequal devices: a factor for each device's times")
      ->delimiter(',')
      ->check(CLI::NonNegativeNumber);
  app.add_option("--transfer", a.transfer, "time of a transfer between chunks")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--offload", a.offload, "time of an offload or reload (bpipe)")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--optimizer", a.optimizer, "time of the optimizer on a device")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--overlapped", a.overlapped,
                 "a fused forward-backward takes this part of the two (dualpipe)")
      ->check(CLI::Range(0.0, 1.0));
  app.add_option("--watts", a.watts, "power of a device that computes")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--idle-watts", a.idle_watts, "power of a device that waits")
      ->check(CLI::NonNegativeNumber);
}

}  // namespace

Verb add_plan_pipeline(CLI::App& plan) {
  CLI::App* app = plan.add_subcommand("pipeline", "make, prove, time and draw pipeline schedules");
  auto a = std::make_shared<PipelineArguments>();
  app->add_option("--schedule", a->schedules,
                  "names, comma separated (docs/pipelines.md), or search")
      ->delimiter(',');
  app->add_option("--read", a->read, "a schedule as JSON (docs/pipelines.md)");
  app->add_option("--stages", a->request.stages, "devices in a row");
  app->add_option("--microbatches", a->request.micro_batches, "micro-batches of the batch");
  app->add_option("--chunks", a->request.chunks, "chunks per device (interleaved, hanayo)");
  app->add_option("--slices", a->request.slices, "slices per micro-batch (seq1f1b, terapipe)");
  app->add_option("--window", a->request.window,
                  "micro-batches per update (pipedream-2bw; 0: stages)")
      ->check(CLI::NonNegativeNumber);
  add_times(*app, *a);
  CLI::Option* recompute =
      app->add_option("--recompute", a->recompute,
                      "recompute activations and keep this part of them from the forward pass")
          ->check(CLI::Range(0.0, 1.0));
  app->add_option("--limit", a->limits,
                  "activations a device may hold, one for all or one each; exit 1 if it holds more")
      ->delimiter(',')
      ->check(CLI::NonNegativeNumber);
  app->add_option("--recording", a->trace.file,
                  "a recorded run (docs/pipelines.md): replay it and name what slowed it down");
  add_old_option(*app, "--trace", a->trace.file);
  app->add_option("--ideal", a->trace.ideal,
                  "with --recording: all, worker=N, op=KIND or op=transfer as if nobody were slow")
      ->delimiter(',');
  app->add_option("--svg", a->svg, "write a Gantt chart");
  app->add_option("--perfetto", a->perfetto, "write a Perfetto (Chrome) trace");
  app->add_option("--write", a->write, "write the schedule as JSON");
  app->add_flag("--json", a->json, "print JSON");
  app->add_flag("--csv", a->csv, "print the table as CSV");
  app->add_flag("--md", a->markdown, "print the table as Markdown");
  app->add_flag("--list-schedules", a->list_schedules, "print every schedule with its source");
  return {app, [a, recompute] {
            a->recomputes = recompute->count() > 0;
            a->trace.json = a->json;
            a->trace.csv = a->csv;
            a->trace.markdown = a->markdown;
            a->trace.svg = a->svg;
            a->trace.perfetto = a->perfetto;
            return run_pipeline(*a);
          }};
}

}  // namespace weft
