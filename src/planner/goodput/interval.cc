#include "planner/goodput/interval.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"

namespace weft::planner {

double young_interval(double blocking_s, double mtbf_s) {
  return std::sqrt(2 * blocking_s * mtbf_s);
}

double daly_interval(double blocking_s, double mtbf_s) {
  if (blocking_s >= 2 * mtbf_s) return mtbf_s;
  const double ratio = blocking_s / (2 * mtbf_s);
  return young_interval(blocking_s, mtbf_s) * (1 + std::sqrt(ratio) / 3 + ratio / 9) - blocking_s;
}

double goodput_of(const Checkpointing& c, double interval_s) {
  CHECK(interval_s > 0 && interval_s >= c.delay_s);
  const double overhead = c.slowdown * c.delay_s + c.blocking_s;
  if (std::isinf(interval_s)) return c.rate > 0 ? 0 : 1;
  const double cycle = interval_s + overhead;
  if (c.rate == 0) return interval_s / cycle;
  const double exposed = c.recovery_s + (1 - c.slowdown) * c.delay_s;
  return c.rate * interval_s * std::exp(-c.rate * exposed) / std::expm1(c.rate * cycle);
}

double best_interval(const Checkpointing& c) {
  if (c.rate == 0) return std::numeric_limits<double>::infinity();
  const double overhead = c.slowdown * c.delay_s + c.blocking_s;
  // In units of the mean time between failures: 1 - t - exp(-(t + overhead)) falls from
  // 1 - exp(-overhead) >= 0 at t = 0 to below 0 at t = 1.
  double low = 0, high = 1;
  for (int i = 0; i < 200 && high - low > 1e-16 * high; ++i) {
    const double t = (low + high) / 2;
    (1 - t > std::exp(-(t + c.rate * overhead)) ? low : high) = t;
  }
  // Checkpoints that cost nothing are best taken all the time; a microsecond stands for that.
  return std::max({low / c.rate, c.delay_s, 1e-6});
}

}  // namespace weft::planner
