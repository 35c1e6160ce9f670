#include "xy_chart.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/table.h"

namespace weft {
namespace {

constexpr double kXyLeft = 90, kXyTop = 66, kXyRight = 30, kXyBottom = 50;
constexpr int kTicks = 4;

class XyDrawing {
 public:
  explicit XyDrawing(const XyChart& chart) : chart_(chart) {
    bool first = true;
    for (const ChartSeries& series : chart.series) {
      for (const ChartPoint& p : series.points) {
        if (!std::isfinite(p.x) || !std::isfinite(p.y)) continue;
        if (first) low_x_ = high_x_ = p.x, low_y_ = high_y_ = p.y;
        first = false;
        low_x_ = std::min(low_x_, p.x), high_x_ = std::max(high_x_, p.x);
        low_y_ = std::min(low_y_, p.y), high_y_ = std::max(high_y_, p.y);
      }
    }
    const double margin = 0.05 * std::max(high_y_ - low_y_, 1e-12);
    low_y_ = chart.from_zero ? std::min(0.0, low_y_) : low_y_ - margin;
    high_y_ += margin;
  }

  std::string svg() const {
    std::string text = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
        "viewBox=\"0 0 {0} {1}\" font-family=\"sans-serif\" font-size=\"11\">\n"
        "<rect width=\"{0}\" height=\"{1}\" fill=\"#fff\"/>\n"
        "<text x=\"{2}\" y=\"20\" font-size=\"13\" font-weight=\"bold\">{3}</text>\n"
        "<text x=\"{2}\" y=\"36\" fill=\"#555\">{4}</text>\n",
        chart_.width, chart_.height, kXyLeft, escaped_text(chart_.title),
        escaped_text(chart_.below_title));
    text += legend() + ticks();
    for (const ChartSeries& series : chart_.series) text += draw(series);
    return text + "</svg>\n";
  }

 private:
  double x(double value) const {
    return kXyLeft + (chart_.width - kXyLeft - kXyRight) * (value - low_x_) /
                         std::max(high_x_ - low_x_, 1e-12);
  }
  double y(double value) const {
    return kXyTop + (chart_.height - kXyTop - kXyBottom) * (high_y_ - value) /
                        std::max(high_y_ - low_y_, 1e-12);
  }

  // Round numbers from low to high, about kTicks of them.
  static std::vector<double> round_numbers(double low, double high) {
    const double rough = std::max(high - low, 1e-12) / kTicks;
    const double ten = std::pow(10, std::floor(std::log10(rough)));
    const double step = ten * (rough < 1.5 * ten   ? 1
                               : rough < 3.5 * ten ? 2
                               : rough < 7 * ten   ? 5
                                                   : 10);
    std::vector<double> all;
    const double first = std::ceil(low / step - 1e-9);
    for (int i = 0; (first + i) * step <= high + 1e-9 * step; ++i) {
      all.push_back((first + i) * step);
    }
    return all;
  }

  std::string ticks() const {
    std::string text;
    const double bottom = chart_.height - kXyBottom;
    for (const double at : round_numbers(low_y_, high_y_)) {
      text += fmt::format(
          "<line x1=\"{0}\" y1=\"{1:.1f}\" x2=\"{2}\" y2=\"{1:.1f}\" stroke=\"#e4e4e0\"/>\n"
          "<text x=\"{3}\" y=\"{4:.1f}\" text-anchor=\"end\" fill=\"#555\">{5:.6g}</text>\n",
          kXyLeft, y(at), chart_.width - kXyRight, kXyLeft - 8, y(at) + 4, at);
    }
    for (const double at : round_numbers(low_x_, high_x_)) {
      text += fmt::format(
          "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\" fill=\"#555\">{:.6g}</text>\n",
          x(at), bottom + 16, at);
    }
    return text + fmt::format(
                      "<text x=\"{}\" y=\"{}\" text-anchor=\"end\" fill=\"#555\">{}</text>\n"
                      "<text x=\"{}\" y=\"{}\" fill=\"#555\">{}</text>\n",
                      chart_.width - kXyRight, bottom + 34, escaped_text(chart_.x_name), 8,
                      kXyTop - 12, escaped_text(chart_.y_name));
  }

  std::string legend() const {
    std::string text;
    double at = kXyLeft + 110;
    for (const ChartSeries& series : chart_.series) {
      if (series.name.empty()) continue;
      text += fmt::format(
          "<rect x=\"{}\" y=\"{}\" width=\"10\" height=\"10\" fill=\"{}\"/>"
          "<text x=\"{}\" y=\"{}\">{}</text>\n",
          at, kXyTop - 21, series.color, at + 14, kXyTop - 12, escaped_text(series.name));
      at += 34 + 6.2 * static_cast<double>(series.name.size());
    }
    return text;
  }

  std::string draw(const ChartSeries& series) const {
    std::string text, line;
    for (const ChartPoint& p : series.points) {
      if (!std::isfinite(p.x) || !std::isfinite(p.y)) continue;
      switch (series.style) {
        case ChartSeries::Style::kLine:
          line += fmt::format("{:.1f},{:.1f} ", x(p.x), y(p.y));
          break;
        case ChartSeries::Style::kDots:
          text += fmt::format(
              "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\" fill=\"{}\"><title>{}</title>"
              "</circle>\n",
              x(p.x), y(p.y), series.color, escaped_text(p.says));
          break;
        case ChartSeries::Style::kCross:
          text += fmt::format(
              "<path d=\"M{:.1f} {:.1f}l8 8m0 -8l-8 8\" stroke=\"{}\" stroke-width=\"2\"/>\n",
              x(p.x) - 4, y(p.y) - 4, series.color);
          break;
      }
    }
    if (line.empty()) return text;
    return fmt::format(
        "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.5\"/>\n", line,
        series.color);
  }

  const XyChart& chart_;
  double low_x_ = 0, high_x_ = 1, low_y_ = 0, high_y_ = 1;
};

}  // namespace

std::string xy_svg(const XyChart& chart) { return XyDrawing(chart).svg(); }

}  // namespace weft
