// Charts of one number against another, as SVG.
#pragma once

#include <string>
#include <vector>

namespace weft {

struct ChartPoint {
  double x = 0, y = 0;
  std::string says = {};  // shown when the pointer rests on a dot
};

struct ChartSeries {
  enum class Style { kLine, kDots, kCross };
  std::string name;  // in the legend; empty: not named
  std::string color;
  Style style = Style::kLine;
  std::vector<ChartPoint> points;
};

struct XyChart {
  std::string title, below_title, x_name, y_name;
  std::vector<ChartSeries> series;
  double width = 690, height = 400;  // of the picture
  bool from_zero = false;            // the y axis
};

// Ensures: whatever stands in the texts is shown as text. Points that are not finite are left out.
std::string xy_svg(const XyChart& chart);

}  // namespace weft
