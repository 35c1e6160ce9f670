#include "plan_trace.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/table.h"
#include "pipeline/recording.h"
#include "pipeline/what_if.h"
#include "pipeline_chart.h"
#include "plan_command.h"

namespace weft {
namespace {

using nlohmann::ordered_json;

struct Replay {
  pipeline::Recording recording;
  pipeline::Causes causes;
  std::vector<pipeline::Part> ideal;
  std::vector<pipeline::Timeline> steps;  // with the parts of --ideal made ideal
  std::vector<pipeline::Timeline> recorded;
  double what_if_s = 0;
};

// Of operations that took no time nothing is slow.
double ratio_or_one(double a, double b) { return b > 0 ? a / b : 1; }

Result<Replay> read(const TraceArguments& a) {
  const auto text = read_file(a.file, pipeline::kMaxRecordingText);
  if (!text.ok()) return text.error();
  auto recording = pipeline::parse_recording(*text);
  if (!recording.ok()) {
    return Error{recording.error().kind, a.file + ": " + recording.error().what,
                 recording.error().hint};
  }
  Replay out;
  const int devices = recording->steps[0].schedule.devices;
  for (const std::string& word : a.ideal) {
    const auto part = pipeline::parse_part(word);
    if (!part.ok()) return part.error();
    if (part->worker >= devices) {
      return Error{ErrorKind::kInvalidInput,
                   fmt::format("--ideal {}: the trace has workers 0 .. {}", word, devices - 1), ""};
    }
    out.ideal.push_back(*part);
  }
  out.causes = pipeline::find_causes(*recording);
  out.steps = pipeline::replay(*recording, out.ideal);
  for (const pipeline::Timeline& step : out.steps) out.what_if_s += step.makespan;
  for (const pipeline::RecordedStep& step : recording->steps) {
    out.recorded.push_back(pipeline::timeline_of(step));
  }
  out.recording = std::move(*recording);
  return out;
}

std::string causes_json(const Replay& r) {
  ordered_json causes = ordered_json::array();
  for (const pipeline::Cause& cause : r.causes.causes) {
    causes.push_back({{"part", pipeline::name_of(cause.part)},
                      {"mended_s", cause.mended_s},
                      {"alone_s", cause.alone_s},
                      {"slowdown", ratio_or_one(cause.alone_s, r.causes.ideal_s)}});
  }
  ordered_json ideal = ordered_json::array();
  for (const pipeline::Part& part : r.ideal) ideal.push_back(pipeline::name_of(part));
  const ordered_json out = {{"schema", 1},
                            {"schedule", r.recording.name},
                            {"devices", r.recording.steps[0].schedule.devices},
                            {"steps", r.recording.steps.size()},
                            {"recorded_s", r.causes.recorded_s},
                            {"recorded_idle_fraction", pipeline::idle_fraction(r.recorded)},
                            {"replayed_s", r.causes.replayed_s},
                            {"replayed_idle_fraction", r.causes.replayed_idle_fraction},
                            {"ideal_s", r.causes.ideal_s},
                            {"slowdown", ratio_or_one(r.causes.replayed_s, r.causes.ideal_s)},
                            {"ideal", std::move(ideal)},
                            {"what_if_s", r.what_if_s},
                            {"what_if_idle_fraction", pipeline::idle_fraction(r.steps)},
                            {"causes", std::move(causes)}};
  return out.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

Table causes_table(const Replay& r) {
  Table table({"<part", "s if it alone were ideal", "saved %", "slowdown by it alone"});
  for (const pipeline::Cause& cause : r.causes.causes) {
    table.row({pipeline::name_of(cause.part), fmt::format("{:.5g}", cause.mended_s),
               fmt::format("{:.2f}", 100 * (1 - ratio_or_one(cause.mended_s, r.causes.replayed_s))),
               fmt::format("{:.3f}x", ratio_or_one(cause.alone_s, r.causes.ideal_s))});
  }
  return table;
}

std::string replay_verdict(const Replay& r) {
  const pipeline::Causes& c = r.causes;
  std::string text = fmt::format(
      "recorded {:.5g} s in {} steps, {:.2f} % idle; replayed {:.5g} s, {:.2f} % idle; everything "
      "ideal {:.5g} s\n",
      c.recorded_s, r.recording.steps.size(), 100 * pipeline::idle_fraction(r.recorded),
      c.replayed_s, 100 * c.replayed_idle_fraction, c.ideal_s);
  if (!r.ideal.empty()) {
    std::vector<std::string> names;
    for (const pipeline::Part& part : r.ideal) names.push_back(pipeline::name_of(part));
    text +=
        fmt::format("with {} ideal: {:.5g} s, {:.3f}x as fast, {:.2f} % idle\n",
                    fmt::join(names, ", "), r.what_if_s, ratio_or_one(c.replayed_s, r.what_if_s),
                    100 * pipeline::idle_fraction(r.steps));
  }
  const auto worst = std::max_element(c.causes.begin(), c.causes.end(),
                                      [](auto& a, auto& b) { return a.alone_s < b.alone_s; });
  return text + fmt::format("stragglers cost {:.3f}x; the most is due to {}: {:.3f}x\n",
                            ratio_or_one(c.replayed_s, c.ideal_s), pipeline::name_of(worst->part),
                            ratio_or_one(worst->alone_s, c.ideal_s));
}

// The first step as recorded and as replayed.
Status write_pictures(const TraceArguments& a, const Replay& r) {
  const pipeline::Schedule& schedule = r.recording.steps[0].schedule;
  std::vector<TimedPipeline> runs = {{schedule, r.recorded[0]}, {schedule, r.steps[0]}};
  runs[0].schedule.name += " recorded";
  runs[1].schedule.name += " replayed";
  Status status;
  if (!a.svg.empty()) status = write_file_atomically(a.svg, pipeline_svg(runs));
  if (status.ok() && !a.perfetto.empty()) {
    status = write_file_atomically(
        a.perfetto,
        pipeline::write_recordings({pipeline::record(runs[0].schedule, runs[0].timeline),
                                    pipeline::record(runs[1].schedule, runs[1].timeline)}));
  }
  return status;
}

}  // namespace

int run_plan_trace(const TraceArguments& a) {
  const Result<Replay> replay = read(a);
  if (!replay.ok()) return report_error("plan pipeline", replay.error());
  if (const Status status = write_pictures(a, *replay); !status.ok()) {
    return report_error("plan pipeline", status.error());
  }
  const Table table = causes_table(*replay);
  const std::string text = a.json       ? causes_json(*replay)
                           : a.csv      ? table.csv()
                           : a.markdown ? table.markdown()
                                        : table.text() + replay_verdict(*replay);
  std::fputs(text.c_str(), stdout);
  return kExitDone;
}

}  // namespace weft
