// The pipeline of a layout as data, with the planner's times: for pictures, to hold the closed
// forms of step_time.h against the exact solver, and to time the best layouts of a search exactly.
#pragma once

#include <vector>

#include "pipeline/costs.h"
#include "pipeline/schedule.h"
#include "pipeline/schedules.h"
#include "pipeline/solve.h"
#include "planner/memory.h"
#include "planner/step_time.h"

namespace weft::planner {

// Passes carry the sends behind them, as Megatron's do. The error says what the schedule's
// generator cannot serve, or that the schedule would have more than `most_operations`.
inline constexpr std::int64_t kMostOperations = 20'000'000;
Result<pipeline::Schedule> pipeline_of(const Workload& work, const Layout& layout,
                                       std::int64_t most_operations = kMostOperations);

// The named schedule with the given times of its chunks.
Result<pipeline::Schedule> timed_pipeline(std::string_view name, const pipeline::Request& request,
                                          const pipeline::Costs& costs);

// Its makespan, beside which step_time() has: compute, recompute, tensor, expert, pipeline, bubble
// and host.  Cost: O(stages * micro-batches * chunks).
Result<Seconds> exact_pipeline_seconds(const Workload& work, const Layout& layout);
Seconds formula_pipeline_seconds(const StepTime& time);
// Puts `passes` in place of the formula's sum: what that missed is waiting, unless there is less of
// it than the formula has work.
void replace_passes(StepTime& time, Seconds passes);

// What the devices of a stage hold while a step goes on.
struct StageMemory {
  double peak_bytes = 0;
  Seconds peak_at = 0;
  std::vector<double> most_bytes;  // in each of kMemoryParts equal parts of the makespan
};
inline constexpr int kMemoryParts = 96;

// A step whose pipeline was solved and not taken from a formula.
struct ExactStep {
  Seconds makespan = 0;
  double idle_fraction = 0, span_idle_fraction = 0;
  std::vector<double> peak_activations;  // by stage, in micro-batches of its share
  std::vector<StageMemory> memory;       // by stage
  StepTime time;                         // the whole step; its parts add up
};
// For schedules without a flush (zb-h2) a step takes the longest span of a device.
Result<ExactStep> exact_step(const Workload& work, const Layout& layout,
                             std::int64_t most_operations = kMostOperations);

}  // namespace weft::planner
