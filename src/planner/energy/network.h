// A pipeline as a network of activities.
#pragma once

#include <vector>

#include "base/result.h"
#include "pipeline/schedule.h"
#include "planner/energy/cost_curve.h"

namespace weft::planner {

struct PipelineNetwork {
  int events = 0;
  std::vector<Activity> activities;
  std::vector<std::vector<int>> of_op;  // as the programs: the activity
};

// Activities of operations have no kinks yet; all others (orders, data, transfers, one at a time on
// each link) have theirs, in ticks of `tick_s`. The time between event 0 and event 1 is that of
// solve().
Result<PipelineNetwork> network_of(const pipeline::Schedule& schedule, double tick_s);

}  // namespace weft::planner
