// Runs the iterations of one or several jobs on shared links.
#pragma once

#include <span>
#include <vector>

#include "flow/rate_class.h"
#include "flow/shift.h"
#include "timing/iteration/graph.h"
#include "timing/iteration/plan.h"

namespace weft {

// One job as it runs: its messages, its class on the links, when it may begin.
struct IterationSetting {
  const IterationGraph* graph = nullptr;
  TransferPlan plan;
  RateClass rate;            // of each wire
  bool by_progress = false;  // the weight follows the bytes sent of the iteration (MLTCP)
  Seconds start = 0;         // of the job, before the shift
  Shift shift;
};

// What happened on a device or a wire. Of messages: `begin` starts the overhead, `data` the bytes.
struct IterationSpan {
  std::uint32_t job = 0;
  std::uint32_t op = 0;
  std::uint32_t iteration = 0;
  Seconds begin = 0, data = 0, end = 0;
  double wire_bytes = 0;  // 0 for computations
};

struct IterationResult {
  Seconds start = 0;
  std::vector<Seconds> ends;  // of its iterations
};

struct IterationRun {
  std::vector<IterationResult> jobs;
  std::vector<IterationSpan> spans;
};

struct IterationLimits {
  std::uint32_t iterations = 1;  // each job does at least so many...
  // ...unless one has done this many times as much: strict ranks can starve the others for ever.
  std::uint32_t patience = 20;
  bool record = false;
};

// The model. A device does one computation at a time, lowest index first. A wire takes messages
// while its credit lasts, least key first, then the longest ready; they pass one after the other
// (or together, if the plan says so): overhead, bytes at the rate that max-min sharing of the links
// gives, and `latency` later the message has arrived and its credit is free. The next iteration
// begins when all ops are done, not before its shift. Requires: at least one job.
IterationRun simulate_iterations(std::span<const double> link_bytes_per_s,
                                 std::span<const IterationSetting> jobs,
                                 const IterationLimits& limits);

// Mean time between ends over the second half of the iterations; kNever if fewer than two ended.
Seconds steady_iteration(const IterationResult& job);

}  // namespace weft
