#include "iteration_chart.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>

#include "base/table.h"

namespace weft {
namespace {

using nlohmann::ordered_json;

constexpr double kIterationLeft = 190, kIterationWidth = 1000, kIterationRow = 22,
                 kIterationGap = 4, kIterationTitle = 30, kIterationAxis = 22;

// Row of an op among its job's devices and wires.
std::size_t chart_row(const IterationGraph& graph, std::uint32_t op) {
  const IterationOp& one = graph.ops[op];
  return one.is_transfer ? graph.devices.size() + one.place : one.place;
}

std::size_t row_count(const IterationGraph& graph) {
  return graph.devices.size() + graph.wires.size();
}

std::string row_name(const IterationGraph& graph, std::size_t row) {
  return row < graph.devices.size() ? graph.devices[row]
                                    : graph.wires[row - graph.devices.size()].name;
}

const char* iteration_color(const IterationOp& op) {
  if (op.is_transfer) return op.name.starts_with("pull") ? "#c9a227" : "#d9772b";
  return op.name.starts_with("backward") ? "#3b6fb6" : "#4d9e63";
}

struct TimeWindow {
  Seconds from = 0, until = 0;
};

// The last two iterations of the job whose iterations are longest; of a job that has done only one,
// that one.
TimeWindow last_iterations(const SchedulerRun& run) {
  TimeWindow window;
  for (const IterationResult& job : run.run.jobs) {
    if (job.ends.empty()) continue;
    const std::size_t n = job.ends.size();
    const Seconds from = n > 2 ? job.ends[n - 3] : job.start;
    if (job.ends.back() - from > window.until - window.from) window = {from, job.ends.back()};
  }
  return window;
}

// Slices of one tensor that follow each other closely are drawn as one bar.
std::vector<IterationSpan> merged(const TrainingFile& file, const SchedulerRun& run,
                                  TimeWindow window) {
  std::vector<IterationSpan> spans;
  for (const IterationSpan& span : run.run.spans) {
    if (span.end > window.from && span.begin < window.until) spans.push_back(span);
  }
  std::stable_sort(spans.begin(), spans.end(), [&](const auto& a, const auto& b) {
    const std::size_t row_a = chart_row(file.jobs[a.job].graph, a.op);
    const std::size_t row_b = chart_row(file.jobs[b.job].graph, b.op);
    return std::tie(a.job, row_a, a.begin) < std::tie(b.job, row_b, b.begin);
  });
  const Seconds close = (window.until - window.from) / kIterationWidth;
  std::vector<IterationSpan> out;
  for (const IterationSpan& span : spans) {
    if (!out.empty() && out.back().job == span.job && out.back().op == span.op &&
        out.back().iteration == span.iteration && span.begin - out.back().end < close) {
      out.back().end = std::max(out.back().end, span.end);
      out.back().wire_bytes += span.wire_bytes;
    } else {
      out.push_back(span);
    }
  }
  return out;
}

std::string iteration_bar(const IterationOp& op, const IterationSpan& span, TimeWindow window,
                          double y) {
  const double scale = kIterationWidth / (window.until - window.from);
  const double x = kIterationLeft + (std::max(span.begin, window.from) - window.from) * scale;
  const double right = kIterationLeft + (std::min(span.end, window.until) - window.from) * scale;
  const double width = std::max(right - x, 0.3);
  std::string text = fmt::format(
      "<rect x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{}\" fill=\"{}\" "
      "stroke=\"#fff\" stroke-width=\"{}\"><title>{}, {:.6g} to {:.6g} ms</title></rect>\n",
      x, y, width, kIterationRow, iteration_color(op), width > 4 ? 0.7 : 0, escaped_text(op.name),
      1e3 * span.begin, 1e3 * span.end);
  // About 6.2 units a letter at this size.
  if (width > 6.2 * static_cast<double>(op.name.size()) + 6) {
    text += fmt::format(
        "<text x=\"{:.1f}\" y=\"{:.1f}\" fill=\"#fff\" text-anchor=\"middle\">{}"
        "</text>\n",
        x + width / 2, y + kIterationRow - 7, escaped_text(op.name));
  }
  return text;
}

std::string time_axis(TimeWindow window, double y) {
  std::string text;
  for (int i = 0; i <= 5; ++i) {
    text += fmt::format(
        "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" fill=\"#555\">{:.4g}{}</text>\n",
        kIterationLeft + kIterationWidth * i / 5, y + 13, i == 5 ? "end" : "middle",
        1e3 * (window.until - window.from) * i / 5, i == 5 ? " ms" : "");
  }
  return text;
}

// One run from `y` on, `length` of it; moves y below it.
std::string scheduler_section(const TrainingFile& file, const SchedulerRun& run, Seconds length,
                              double& y) {
  std::string title = run.scheduler + ":";
  for (std::size_t j = 0; j < run.jobs.size(); ++j) {
    title += fmt::format("{} {} {:.4g} ms (ideal {:.4g})", j == 0 ? "" : ",", file.jobs[j].name,
                         1e3 * run.jobs[j].iteration, 1e3 * run.jobs[j].ideal);
  }
  std::string text = fmt::format("<text x=\"8\" y=\"{:.1f}\" class=\"title\">{}</text>\n", y + 20,
                                 escaped_text(title));
  y += kIterationTitle;
  std::vector<double> first(file.jobs.size());
  for (std::size_t j = 0; j < file.jobs.size(); ++j) {
    first[j] = y;
    const IterationGraph& graph = file.jobs[j].graph;
    for (std::size_t row = 0; row < row_count(graph); ++row, y += kIterationRow + kIterationGap) {
      text += fmt::format("<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n",
                          kIterationLeft - 8, y + kIterationRow - 7,
                          escaped_text(file.jobs[j].name + " " + row_name(graph, row)));
      text += fmt::format(
          "<rect x=\"{}\" y=\"{:.1f}\" width=\"{}\" height=\"{}\" "
          "fill=\"#f1f1ee\"/>\n",
          kIterationLeft, y, kIterationWidth, kIterationRow);
    }
  }
  TimeWindow window = last_iterations(run);
  window.until = window.from + length;
  for (const IterationSpan& span : merged(file, run, window)) {
    const IterationGraph& graph = file.jobs[span.job].graph;
    const double at = first[span.job] + static_cast<double>(chart_row(graph, span.op)) *
                                            (kIterationRow + kIterationGap);
    text += iteration_bar(graph.ops[span.op], span, window, at);
  }
  text += time_axis(window, y);
  y += kIterationAxis;
  return text;
}

std::string iteration_legend(double y) {
  struct Entry {
    const char *color, *text;
  };
  std::string text;
  double x = kIterationLeft;
  for (const Entry entry : {Entry{"#3b6fb6", "backward"}, Entry{"#4d9e63", "other computation"},
                            Entry{"#d9772b", "transfer"}, Entry{"#c9a227", "pull"}}) {
    text += fmt::format(
        "<rect x=\"{}\" y=\"{}\" width=\"12\" height=\"12\" fill=\"{}\"/>"
        "<text x=\"{}\" y=\"{}\">{}</text>\n",
        x, y, entry.color, x + 17, y + 10, entry.text);
    x += 150;
  }
  return text;
}

}  // namespace

std::string iteration_svg(const TrainingFile& file, const std::vector<SchedulerRun>& runs) {
  double y = 28;
  std::string body = iteration_legend(8);
  Seconds length = 0;  // one scale, so that sections can be compared
  for (const SchedulerRun& run : runs) {
    const TimeWindow window = last_iterations(run);
    length = std::max(length, window.until - window.from);
  }
  for (const SchedulerRun& run : runs) body += scheduler_section(file, run, length, y);
  const double width = kIterationLeft + kIterationWidth + 20;
  return fmt::format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
             "viewBox=\"0 0 {0} {1}\" font-family=\"sans-serif\" font-size=\"11\">\n"
             "<style>.title{{font-size:13px;font-weight:bold}}</style>\n"
             "<rect width=\"{0}\" height=\"{1}\" fill=\"#fff\"/>\n",
             width, y + 10) +
         body + "</svg>\n";
}

std::string iteration_trace(const TrainingFile& file, const std::vector<SchedulerRun>& runs) {
  ordered_json events = ordered_json::array();
  std::size_t process = 0;
  for (const SchedulerRun& run : runs) {
    for (std::size_t j = 0; j < file.jobs.size(); ++j) {
      const IterationGraph& graph = file.jobs[j].graph;
      const auto name = [&](const char* what, std::size_t thread, const std::string& text) {
        events.push_back({{"name", what},
                          {"ph", "M"},
                          {"pid", process + j},
                          {"tid", thread},
                          {"args", {{"name", text}}}});
      };
      name("process_name", 0, run.scheduler + ": " + file.jobs[j].name);
      for (std::size_t row = 0; row < row_count(graph); ++row) {
        name("thread_name", row, row_name(graph, row));
      }
    }
    for (const IterationSpan& span : run.run.spans) {
      const IterationGraph& graph = file.jobs[span.job].graph;
      const IterationOp& op = graph.ops[span.op];
      ordered_json event = {{"name", op.name},
                            {"cat", op.is_transfer ? "transfer" : "compute"},
                            {"ph", "X"},
                            {"ts", 1e6 * span.begin},
                            {"dur", 1e6 * (span.end - span.begin)},
                            {"pid", process + span.job},
                            {"tid", chart_row(graph, span.op)},
                            {"args", {{"iteration", span.iteration}}}};
      if (op.is_transfer) event["args"]["bytes"] = span.wire_bytes;
      events.push_back(std::move(event));
    }
    process += file.jobs.size();
  }
  return ordered_json{{"displayTimeUnit", "ms"}, {"traceEvents", std::move(events)}}.dump() + "\n";
}

}  // namespace weft
