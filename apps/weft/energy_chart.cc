#include "energy_chart.h"

#include <fmt/core.h>

#include "xy_chart.h"

namespace weft {

std::string energy_svg(const std::string& title, const planner::EnergyFrontier& f) {
  ChartSeries bound{"bound", "#5b8fd0", ChartSeries::Style::kLine, {}};
  ChartSeries chosen{"one clock per operation", "#2f7d4a", ChartSeries::Style::kDots, {}};
  for (const planner::EnergyPoint& point : f.points) {
    bound.points.push_back({point.seconds, point.bound_joules});
    chosen.points.push_back({point.seconds, point.joules,
                             fmt::format("{:.6g} s, {:.6g} J", point.seconds, point.joules)});
  }
  const ChartSeries fastest{"everything at its fastest",
                            "#c0392b",
                            ChartSeries::Style::kCross,
                            {{f.fastest_s, f.fastest_joules}}};
  return xy_svg({title,
                 "energy of a step against its time",
                 "seconds per step",
                 "joules",
                 {bound, chosen, fastest}});
}

}  // namespace weft
