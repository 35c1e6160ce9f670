#include "flow/rate_class.h"

#include <algorithm>

#include "base/check.h"

namespace weft {

double progress_weight(double progress, double first, double last) {
  CHECK(first > 0 && last > 0);
  return first + (last - first) * std::clamp(progress, 0.0, 1.0);
}

std::vector<RateClass> share_classes(std::span<const BandwidthShare> shares) {
  std::vector<RateClass> classes;
  for (const BandwidthShare& share : shares) {
    CHECK(share.guarantee >= 0 && share.limit >= share.guarantee && share.limit > 0);
    const bool promised = share.guarantee > 0;
    classes.push_back({promised ? 0u : 1u, promised ? share.guarantee : 1.0, share.limit});
  }
  return classes;
}

}  // namespace weft
