// The pipeline of a layout as data, with the planner's times: for pictures, and to hold the closed
// forms of step_time.h against the exact solver.
#pragma once

#include "pipeline/schedule.h"
#include "planner/step_time.h"

namespace weft::planner {

// Passes carry the sends behind them, as Megatron's do. The error says what the schedule's
// generator cannot serve, or that the schedule would have more than `kMostOperations` operations.
inline constexpr std::int64_t kMostOperations = 20'000'000;
Result<pipeline::Schedule> pipeline_of(const Workload& work, const Layout& layout);

// Its makespan, beside which step_time() has: compute, recompute, tensor, expert, pipeline, bubble
// and host.  Cost: O(stages * micro-batches * chunks).
Result<Seconds> exact_pipeline_seconds(const Workload& work, const Layout& layout);
Seconds formula_pipeline_seconds(const StepTime& time);

}  // namespace weft::planner
