#include "pipeline_chart.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/table.h"

namespace weft {
namespace {

using pipeline::Kind;
using pipeline::Op;

constexpr double kPipelineLeft = 84, kPipelineWidth = 1100, kPipelineRow = 22, kPipelineGap = 2,
                 kPipelineTitle = 30, kPipelineAxis = 28;

const char* pipeline_color(const Op& op, int chunk, int devices) {
  // Later chunks of a device are darker.
  const bool dark = chunk >= devices;
  switch (op.kind) {
    case Kind::kForward:
      return dark ? "#2d5a9a" : "#5b8fd0";
    case Kind::kBackward:
    case Kind::kBackwardInput:
      return dark ? "#2f7d4a" : "#57aa72";
    case Kind::kWeightGradient:
      return dark ? "#b0831c" : "#d6ab3c";
    case Kind::kForwardBackward:
      return "#7a5ba8";
    case Kind::kRecompute:
      return "#9aa7b5";
    case Kind::kOptimizer:
      return "#444444";
    default:
      return "#d9772b";
  }
}

std::string pipeline_bar(const pipeline::Schedule& s, const Op& op, const pipeline::Span& span,
                         double scale, double y) {
  const double x = kPipelineLeft + span.begin * scale;
  const double width = (span.end - span.begin) * scale;
  if (!pipeline::computes(op.kind) || !(width > 0)) return "";
  std::string text = fmt::format(
      "<rect x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{}\" fill=\"{}\" stroke=\"#fff\" "
      "stroke-width=\"{}\"><title>{}, {:.6g} to {:.6g}</title></rect>\n",
      x, y, std::max(width, 0.3), kPipelineRow, pipeline_color(op, op.work.chunk, s.devices),
      width > 3 ? 0.6 : 0, describe(s, op), span.begin, span.end);
  const std::string label = op.kind == Kind::kForwardBackward
                                ? fmt::format("{}+{}", op.work.micro_batch, op.other.micro_batch)
                                : fmt::format("{}", op.work.micro_batch);
  // About 6.2 units a figure at this size.
  if (op.kind != Kind::kOptimizer && width > 6.2 * static_cast<double>(label.size()) + 3) {
    text += fmt::format(
        "<text x=\"{:.1f}\" y=\"{:.1f}\" fill=\"#fff\" text-anchor=\"middle\">{}</text>\n",
        x + width / 2, y + kPipelineRow - 7, label);
  }
  return text;
}

std::string unit_axis(double length, double y) {
  std::string text;
  for (int i = 0; i <= 5; ++i) {
    text += fmt::format(
        "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" fill=\"#555\">{:.4g}</text>\n",
        kPipelineLeft + kPipelineWidth * i / 5, y + 13, i == 5 ? "end" : "middle", length * i / 5);
  }
  return text;
}

// One schedule from `y` on; moves y below it.
std::string schedule_section(const TimedPipeline& run, double length, double& y) {
  const pipeline::Schedule& s = run.schedule;
  const double peak =
      *std::max_element(run.timeline.peak_activations.begin(), run.timeline.peak_activations.end());
  std::string title = fmt::format(
      "{}: makespan {:.5g}, idle {:.2f} %, idle inside the devices' spans {:.2f} %, peak "
      "activations {:.4g}",
      s.name, run.timeline.makespan, 100 * run.timeline.idle_fraction,
      100 * run.timeline.span_idle_fraction, peak);
  if (length < run.timeline.makespan) {
    title += fmt::format("; drawn up to {:.4g}", length);
  }
  std::string text = fmt::format("<text x=\"8\" y=\"{:.1f}\" class=\"title\">{}</text>\n", y + 20,
                                 escaped_text(title));
  y += kPipelineTitle;
  const double scale = length > 0 ? kPipelineWidth / length : 0;
  for (std::size_t d = 0; d < s.programs.size(); ++d, y += kPipelineRow + kPipelineGap) {
    text += fmt::format(
        "<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">device {}</text>\n"
        "<rect x=\"{}\" y=\"{:.1f}\" width=\"{}\" height=\"{}\" fill=\"#f1f1ee\"/>\n",
        kPipelineLeft - 8, y + kPipelineRow - 7, d, kPipelineLeft, y, kPipelineWidth, kPipelineRow);
    for (std::size_t i = 0; i < s.programs[d].size(); ++i) {
      const pipeline::Span& span = run.timeline.spans[d][i];
      if (span.end <= length) text += pipeline_bar(s, s.programs[d][i], span, scale, y);
    }
  }
  text += unit_axis(length, y);
  y += kPipelineAxis;
  return text;
}

std::string pipeline_legend() {
  struct Entry {
    const char *color, *text;
  };
  std::string text;
  double x = kPipelineLeft;
  for (const Entry entry :
       {Entry{"#5b8fd0", "forward"}, Entry{"#57aa72", "backward"},
        Entry{"#d6ab3c", "weight gradient"}, Entry{"#7a5ba8", "forward + backward"},
        Entry{"#9aa7b5", "recompute"}, Entry{"#444444", "optimizer"}}) {
    text += fmt::format(
        "<rect x=\"{}\" y=\"8\" width=\"12\" height=\"12\" fill=\"{}\"/>"
        "<text x=\"{}\" y=\"18\">{}</text>\n",
        x, entry.color, x + 17, entry.text);
    x += 150;
  }
  return text + fmt::format("<text x=\"{}\" y=\"18\" fill=\"#555\">dark: later chunks</text>\n", x);
}

// The time up to which no more than `most` operations have ended.
double drawn_until(const std::vector<TimedPipeline>& runs, std::size_t most) {
  std::vector<double> ends;
  for (const TimedPipeline& run : runs) {
    for (const auto& spans : run.timeline.spans) {
      for (const pipeline::Span& span : spans) ends.push_back(span.end);
    }
  }
  const std::size_t last = std::min(ends.size(), std::max<std::size_t>(most, 1)) - 1;
  std::nth_element(ends.begin(), ends.begin() + static_cast<std::ptrdiff_t>(last), ends.end());
  return ends[last];
}

}  // namespace

std::string pipeline_svg(const std::vector<TimedPipeline>& runs, std::size_t most_bars) {
  double y = 28, length = 0;
  std::size_t operations = 0;
  for (const TimedPipeline& run : runs) {
    length = std::max(length, run.timeline.makespan);
    for (const auto& spans : run.timeline.spans) operations += spans.size();
  }
  if (operations > most_bars) length = drawn_until(runs, most_bars);
  std::string body = pipeline_legend();
  for (const TimedPipeline& run : runs) body += schedule_section(run, length, y);
  const double width = kPipelineLeft + kPipelineWidth + 20;
  return fmt::format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
             "viewBox=\"0 0 {0} {1}\" font-family=\"sans-serif\" font-size=\"11\">\n"
             "<style>.title{{font-size:13px;font-weight:bold}}</style>\n"
             "<rect width=\"{0}\" height=\"{1}\" fill=\"#fff\"/>\n",
             width, y + 10) +
         body + "</svg>\n";
}

}  // namespace weft
