#include "model/trace.h"

#include <algorithm>
#include <iterator>

namespace weft {
namespace {

// The first phase after the one that holds at `work_done`.
auto next_phase(const std::vector<SpeedPhase>& phases, double work_done) {
  return std::upper_bound(
      phases.begin(), phases.end(), work_done,
      [](double work, const SpeedPhase& phase) { return work < phase.from_work; });
}

}  // namespace

double Truth::speed_at(double work_done) const {
  const auto next = next_phase(phases, work_done);
  return next == phases.begin() ? 1 : std::prev(next)->speed;
}

double Truth::speed_changes_at(double work_done) const {
  const auto next = next_phase(phases, work_done);
  return next == phases.end() ? work : std::min(work, next->from_work);
}

Seconds Truth::duration_at(double rate) const {
  Seconds duration = 0;
  for (double done = 0; done < work;) {
    const double until = speed_changes_at(done);
    duration += (until - done) / (rate * speed_at(done));
    done = until;
  }
  return duration;
}

}  // namespace weft
