// The page of `weft plan search --report`: tables and pictures in one file, without scripts.
#include <fmt/core.h>

#include <algorithm>

#include "page_style.h"
#include "plan_found.h"
#include "plan_layout.h"
#include "xy_chart.h"

namespace weft {
namespace {

constexpr std::size_t kBars = 12'000;  // of the Gantt chart: keeps the page under 4 MB
constexpr int kStageRows = 64;

constexpr const char* kColors[] = {"#5b8fd0", "#9aa7b5", "#d9772b", "#7a5ba8", "#c0392b", "#b0831c",
                                   "#d5dae1", "#444444", "#2f7d4a", "#0e7490", "#be123c"};

std::string html_section(const std::string& heading, const std::string& content) {
  return fmt::format("<section><h2>{}</h2>\n{}</section>\n", heading, content);
}

// One bar per layout, as long as its step, cut into what the time goes to.
std::string breakdown_svg(const std::vector<planner::Candidate>& ranked) {
  constexpr double kLeft = 430, kWidth = 900, kRow = 24;
  double longest = 0;
  for (const planner::Candidate& one : ranked) longest = std::max(longest, one.seconds());
  std::string text;
  double x = 8;
  for (std::size_t i = 0; i < time_parts().size(); ++i) {
    text += fmt::format(
        "<rect x=\"{0:.0f}\" y=\"8\" width=\"12\" height=\"12\" fill=\"{1}\"/>"
        "<text x=\"{2:.0f}\" y=\"18\">{3}</text>\n",
        x, kColors[i], x + 16, time_parts()[i].name);
    x += 110;
  }
  double y = 34;
  for (const planner::Candidate& one : ranked) {
    text += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\n", kLeft - 8,
                        y + 13, escaped_text(planner::describe(one.layout)));
    double at = kLeft;
    for (std::size_t i = 0; i < time_parts().size(); ++i) {
      const Seconds seconds = one.time.*time_parts()[i].seconds;
      const double width = kWidth * seconds / longest;
      text += fmt::format(
          "<rect x=\"{:.1f}\" y=\"{}\" width=\"{:.1f}\" height=\"18\" fill=\"{}\">"
          "<title>{}: {:.4g} s</title></rect>\n",
          at, y, width, kColors[i], time_parts()[i].name, seconds);
      at += width;
    }
    text += fmt::format("<text x=\"{:.1f}\" y=\"{}\">{} s</text>\n", at + 6, y + 13,
                        three_digits(one.seconds()));
    y += kRow;
  }
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" "
      "style=\"width: 100%; max-width: {0}px\" font-family=\"sans-serif\" "
      "font-size=\"11\">\n{2}</svg>\n",
      kLeft + kWidth + 70, y + 6, text);
}

std::string memory_svg(const FoundPlan& found, const planner::Candidate& best) {
  XyChart chart{"memory of a device over one step",
                "the most in each of 96 parts of the step",
                "seconds",
                "GB",
                {}};
  chart.from_zero = true;
  const int last = best.layout.pipeline - 1;
  std::vector<int> stages = {0};
  for (const int stage : {last / 2, last}) {
    if (stage != stages.back()) stages.push_back(stage);
  }
  constexpr const char* kLines[] = {"#1d5fb8", "#0b7a5c", "#c2410c"};
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const planner::StageMemory& memory = best.exact->memory[static_cast<std::size_t>(stages[i])];
    ChartSeries series{
        fmt::format("stage {}", stages[i]), kLines[i], ChartSeries::Style::kLine, {}};
    for (std::size_t part = 0; part < memory.most_bytes.size(); ++part) {
      const double width = best.exact->makespan / planner::kMemoryParts;
      for (const double edge : {double(part), double(part + 1)}) {
        series.points.push_back({edge * width, memory.most_bytes[part] / 1e9});
      }
    }
    chart.series.push_back(std::move(series));
  }
  const double limit = found.offer().machines.device.memory_bytes / 1e9;
  chart.series.push_back({"what the device has",
                          "#b3261e",
                          ChartSeries::Style::kLine,
                          {{0, limit}, {best.exact->makespan, limit}}});
  return xy_svg(chart);
}

// The front, seen along one axis: time against memory, or against cost.
std::string front_svg(const FoundPlan& found, const std::string& x_name,
                      double planner::FrontPoint::*x_value, double x_scale) {
  // A few layouts that crawl would leave the others no room.
  constexpr double kSlowest = 4;
  Seconds fastest = kNever;
  for (const planner::FrontPoint& point : found.front) {
    fastest = std::min(fastest, point.seconds_per_sample);
  }
  XyChart chart{
      "no other layout is better in time, memory and cost at once",
      fmt::format("those that take more than {:g} times the fastest are in the table only",
                  kSlowest),
      x_name,
      "seconds per step",
      {}};
  chart.from_zero = true;
  constexpr const char* kDots[] = {"#1d5fb8", "#c2410c", "#0b7a5c", "#9333a8", "#9a6700"};
  for (std::size_t i = 0; i < found.offers.size(); ++i) {
    ChartSeries series{found.name_of_offer(i), kDots[i % 5], ChartSeries::Style::kDots, {}};
    for (const planner::FrontPoint& point : found.front) {
      if (point.offer != i || point.seconds_per_sample > kSlowest * fastest) continue;
      const double seconds = point.seconds_per_sample * found.batch;
      series.points.push_back(
          {point.*x_value * x_scale, seconds,
           fmt::format("{}: {:.4g} s, {:.4g} GB, {:.4g} {}",
                       planner::describe(point.candidate->layout), seconds,
                       point.memory_bytes / 1e9, point.cost_per_sample * found.batch,
                       found.cost_unit())});
    }
    chart.series.push_back(std::move(series));
  }
  return xy_svg(chart);
}

std::string gantt(const FoundPlan& found, const planner::Candidate& best) {
  auto solved = solved_pipeline(found.work(), best.layout);
  if (!solved.ok()) return fmt::format("<p>{}</p>\n", escaped_text(solved.error().text()));
  std::vector<TimedPipeline> runs;
  runs.push_back(std::move(*solved));
  return "<p>Seconds; sends between stages are part of the passes before them. A device of the "
         "chart is a stage of the pipeline.</p>\n" +
         pipeline_svg(runs, kBars);
}

std::string rejected(const FoundPlan& found) {
  Table table({"<why", "configurations"});
  for (const auto& [reason, count] : found.answer().rejected) {
    table.row({reason, fmt::format("{}", count)});
  }
  return table.html();
}

std::string constants(const FoundPlan& found) {
  const planner::Device& d = found.offer().machines.device;
  const planner::Network& n = found.offer().machines.network;
  const planner::Framework& f = found.framework;
  Table table({"<constant", "value", "<unit", "<of"});
  const auto put = [&](const char* name, double value, const char* unit, const std::string& of) {
    table.row({name, three_digits(value), unit, of});
  };
  put("peak", d.peak_flops / 1e12, "TFLOP/s", d.name);
  put("share of it with tiles of 256x128", d.tile_efficiency[0], "", d.name);
  put("share of it with tiles of 128x128", d.tile_efficiency[1], "", d.name);
  put("share of it with smaller tiles", d.tile_efficiency[2], "", d.name);
  put("kernel start-up", d.kernel_s * 1e6, "us", d.name);
  put("memory", d.memory_bytes / 1e9, "GB", d.name);
  put("memory bandwidth", d.memory_bytes_per_s / 1e9, "GB/s", d.name);
  put("share of it that is reached", d.memory_efficiency, "", d.name);
  put("link in a node", d.link_bytes_per_s / 1e9, "GB/s", d.name);
  put("link to the host, shared", d.shared_host_bytes_per_s() / 1e9, "GB/s", d.name);
  put("cards of a node", n.cards, "", n.name);
  put("one card", n.card_bytes_per_s / 1e9, "GB/s", n.name);
  put("share of it that is reached", n.efficiency, "", n.name);
  put("step between nodes", n.latency_s * 1e6, "us", n.name);
  put("host time per operation, forward", f.host_forward_s * 1e6, "us", f.name);
  put("host time per operation, backward", f.host_backward_s * 1e6, "us", f.name);
  put("once per step", f.step_s * 1e3, "ms", f.name);
  put("traffic to add a gradient up", f.accumulate_bytes, "bytes", f.name);
  return table.html();
}

}  // namespace

std::string plan_html(const FoundPlan& found) {
  const planner::SearchAnswer& answer = found.answer();
  const planner::Candidate& best = answer.ranked[0];
  std::string body = fmt::format(
      "<h1>{} on {}, batch {}</h1>\n<p>{} configurations tried, {} fit; best: {}, {} s per step, "
      "{:.1f} % of the peak.</p>\n",
      escaped_text(found.model.name), escaped_text(found.name_of_offer(found.chosen)), found.batch,
      found.configurations(), answer.feasible, escaped_text(planner::describe(best.layout)),
      three_digits(best.seconds()), 100 * flops_utilisation(found.work(), best));
  body += html_section("Layouts, fastest first", ranked_table(found).html());
  body += html_section("What a step's time goes to", breakdown_svg(answer.ranked));
  if (answer.ranked.size() > 1) {
    body += html_section(
        "Runner-up",
        fmt::format("<p>{}: {}</p>", escaped_text(planner::describe(answer.ranked[1].layout)),
                    escaped_text(what_would_win(best, answer.ranked[1]))));
  }
  body += html_section("Memory by stage", memory_table(found, kStageRows).html() +
                                              (best.exact ? memory_svg(found, best) : ""));
  body += html_section("The best layout's schedule, solved exactly", gantt(found, best));
  if (found.offers.size() > 1) body += html_section("Devices", offers_table(found).html());
  body += html_section(
      "Time, memory and cost",
      "<div class=\"charts\">" +
          front_svg(found, "GB on a device", &planner::FrontPoint::memory_bytes, 1e-9) +
          front_svg(found, fmt::format("{} per step", found.cost_unit()),
                    &planner::FrontPoint::cost_per_sample, found.batch) +
          "</div>" + front_table(found).html());
  body += html_section("Rejected", rejected(found));
  body += html_section("Constants", constants(found));
  body += html_section("Launch",
                       "<pre>" + escaped_text(launch_flags(found.work(), best.layout)) + "</pre>");
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
      "style-src 'unsafe-inline'; img-src data:\">\n<link rel=\"icon\" href=\"data:,\">\n"
      "<title>Weft plan: {}</title>\n<style>{}</style></head>\n<body><main>\n{}</main></body>"
      "</html>\n",
      escaped_text(found.model.name), kPageStyle, body);
}

}  // namespace weft
