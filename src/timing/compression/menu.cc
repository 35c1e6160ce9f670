#include "timing/compression/menu.h"

#include <cmath>

#include "base/check.h"

namespace weft {

Menu compression_menu(const Configuration& asked, const StepPrediction& plain,
                      const std::vector<StepPrediction>& predicted, int ranks) {
  CHECK(ranks > 1);
  Menu menu{{asked}};
  const double sent_per_byte = 2.0 * (ranks - 1) / ranks;
  for (const StepPrediction& one : predicted) {
    if (!one.efficiency) continue;
    Configuration c = asked;
    const double faster = plain.step_s / one.step_s;
    c.rate *= faster;
    c.scattered_rate *= faster;
    c.efficiency *= *one.efficiency;
    c.seconds_per_step = one.step_s - one.exposed_s;
    c.traffic.bytes_per_step = std::llround(one.sent_bytes / sent_per_byte);
    c.codec = one.codec;
    c.sync = one.sync;
    c.collective = one.algorithm;
    menu.configurations.push_back(std::move(c));
  }
  return menu;
}

}  // namespace weft
