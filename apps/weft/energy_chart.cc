#include "energy_chart.h"

#include <fmt/format.h>

#include <algorithm>

namespace weft {
namespace {

constexpr double kLeft = 90, kTop = 50, kWidth = 620, kHeight = 320;

struct Axes {
  double first_s, last_s, least_j, most_j;

  double x(double seconds) const {
    return kLeft + kWidth * (seconds - first_s) / std::max(last_s - first_s, 1e-12);
  }
  double y(double joules) const {
    return kTop + kHeight * (most_j - joules) / std::max(most_j - least_j, 1e-12);
  }
};

Axes axes_of(const planner::EnergyFrontier& f) {
  Axes axes{f.fastest_s, f.fastest_s, f.fastest_joules, f.fastest_joules};
  for (const planner::EnergyPoint& point : f.points) {
    axes.last_s = std::max(axes.last_s, point.seconds);
    axes.least_j = std::min(axes.least_j, point.bound_joules);
    axes.most_j = std::max(axes.most_j, point.joules);
  }
  const double margin = 0.05 * std::max(axes.most_j - axes.least_j, 1e-12);
  axes.least_j -= margin;
  axes.most_j += margin;
  return axes;
}

std::string ticks(const Axes& axes) {
  std::string text;
  for (int i = 0; i <= 4; ++i) {
    const double seconds = axes.first_s + (axes.last_s - axes.first_s) * i / 4;
    const double joules = axes.least_j + (axes.most_j - axes.least_j) * i / 4;
    text += fmt::format(
        "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\" fill=\"#555\">{:.4g}</text>\n"
        "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\" fill=\"#555\">{:.4g}</text>\n"
        "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"#e4e4e0\"/>\n",
        axes.x(seconds), kTop + kHeight + 16, seconds, kLeft - 8, axes.y(joules) + 4, joules, kLeft,
        axes.y(joules), kLeft + kWidth, axes.y(joules));
  }
  return text;
}

}  // namespace

std::string energy_svg(const std::string& title, const planner::EnergyFrontier& f) {
  const Axes axes = axes_of(f);
  std::string line, dots, escaped;
  for (const char c : title) escaped += c == '<' ? "&lt;" : c == '&' ? "&amp;" : std::string(1, c);
  for (const planner::EnergyPoint& point : f.points) {
    line += fmt::format("{:.1f},{:.1f} ", axes.x(point.seconds), axes.y(point.bound_joules));
    dots += fmt::format(
        "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\" fill=\"#2f7d4a\"><title>{:.6g} s, {:.6g} J"
        "</title></circle>\n",
        axes.x(point.seconds), axes.y(point.joules), point.seconds, point.joules);
  }
  const double width = kLeft + kWidth + 30, height = kTop + kHeight + 50;
  return fmt::format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
             "viewBox=\"0 0 {0} {1}\" font-family=\"sans-serif\" font-size=\"11\">\n"
             "<rect width=\"{0}\" height=\"{1}\" fill=\"#fff\"/>\n"
             "<text x=\"{2}\" y=\"22\" font-size=\"13\" font-weight=\"bold\">{3}</text>\n"
             "<text x=\"{2}\" y=\"38\" fill=\"#555\">joules per step against seconds per step; "
             "dots: "
             "one clock per operation; line: bound; cross: everything at its fastest</text>\n",
             width, height, kLeft, escaped) +
         ticks(axes) +
         fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"#5b8fd0\"/>\n", line) + dots +
         fmt::format(
             "<path d=\"M{0:.1f} {1:.1f}l8 8m0 -8l-8 8\" stroke=\"#c0392b\" "
             "stroke-width=\"2\"/>\n</svg>\n",
             axes.x(f.fastest_s) - 4, axes.y(f.fastest_joules) - 4);
}

}  // namespace weft
