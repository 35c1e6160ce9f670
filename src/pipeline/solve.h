// The exact solver: when each operation runs if every device follows its list and waits for nothing
// else than schedule.h says. This is the longest path through the operations, with devices and
// links as resources whose order the lists fix, so there is nothing to search.
#pragma once

#include <vector>

#include "base/result.h"
#include "pipeline/index.h"
#include "pipeline/schedule.h"

namespace weft::pipeline {

// Sums of parts such as 1/3 are rounded: times and amounts that are equal may differ by so much.
inline constexpr double kRounding = 1e-9;

struct Span {
  double begin = 0;
  double end = 0;
};

struct Timeline {
  std::vector<std::vector<Span>> spans;  // as the programs; transfers: their time on the link
  double makespan = 0;                   // until the last operation or transfer ends
  std::vector<double> busy;              // per device: computing
  std::vector<double> idle;              // per device: makespan - busy
  std::vector<double> span_idle;         // per device: idle between its first and last operation
  std::vector<double> peak_activations;  // per device
  double idle_fraction = 0;              // idle / (devices * makespan)
  // The same with each device's own span in place of the makespan: what stays when the next
  // iteration may begin on a device as soon as that device is done.
  double span_idle_fraction = 0;
  // Per device: its operations, and its idle time until the makespan at `idle_watts`.
  std::vector<double> joules;
  double total_joules = 0;
};

// The numbers of operations that run at the given times.
// Requires: `spans` are shaped as the programs, and each is as long as its operation takes.
Timeline summarize(const Schedule& schedule, const Index& index,
                   std::vector<std::vector<Span>> spans);

// The error names who waits for what in a circle (deadlock).
// Cost: O(operations) and, where activations are parked on other devices, a sort of those.
Result<Timeline> solve(const Schedule& schedule, const Index& index);
// The same, with the shape proved first.
Result<Timeline> solve(const Schedule& schedule);

}  // namespace weft::pipeline
