#include "model/power.h"

#include <algorithm>

namespace weft {

double busy_watts(const DeviceType& type, double watts_cap) {
  if (type.power.empty()) return 0;
  const double most = type.power.back().watts;
  return watts_cap > 0 ? std::min(watts_cap, most) : most;
}

double capped_speed(const DeviceType& type, double watts_cap) {
  if (type.power.empty() || watts_cap <= 0 || watts_cap >= type.power.back().watts) return 1;
  const PowerPoint* below = nullptr;
  for (const PowerPoint& point : type.power) {
    if (point.watts >= watts_cap) {
      if (below == nullptr) return point.speed * watts_cap / point.watts;
      const double part = (watts_cap - below->watts) / (point.watts - below->watts);
      return below->speed + part * (point.speed - below->speed);
    }
    below = &point;
  }
  return 1;
}

double cap_of(const Configuration& configuration, const Allocation& allocation) {
  const double own = allocation.watts_cap;
  if (own == 0 || configuration.watts_cap == 0) return std::max(own, configuration.watts_cap);
  return std::min(own, configuration.watts_cap);
}

}  // namespace weft
