// Training one model on several kinds of devices at once: pipeline stages on pools, with as many
// layers each as its devices are fast and large.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "planner/exact_pipeline.h"
#include "planner/hardware.h"

namespace weft::planner {

struct PoolStage {
  std::size_t pool = 0;
  int from = 0, layers = 0;
};

struct PoolPlan {
  Layout layout;  // `pipeline` stages of tensor * data devices each
  std::vector<PoolStage> stages;
  StepTime time;
  std::vector<MemoryUse> memory;  // by stage
  bool exact = false;             // the pipeline was solved, not taken from the formula

  Seconds seconds() const { return time.total(); }
};

struct PoolAnswer {
  std::int64_t configurations = 0, feasible = 0;
  std::map<std::string, std::int64_t> rejected;
  // Fastest first; the best for each choice of pools, their order, and division into ranks.
  std::vector<PoolPlan> ranked;
};

// Every subset of the pools in every order: all stages have the same number of tensor and data
// ranks, a pool has as many stages as fit on it, and stages follow 1F1B. Layers are dealt so that
// the slowest stage is as fast as can be within every stage's memory, which is exact: stages take
// neighbouring layers. The `keep` best are solved exactly.
// The error says why not even one configuration could be made.
Result<PoolAnswer> search_pools(const Transformer& model, const Framework& framework,
                                const std::vector<Pool>& pools, int batch, int keep);

// "4 x 12 layers on a100-80, 2 x 24 layers on h100"
std::string describe_stages(const std::vector<Pool>& pools, const PoolPlan& plan);

}  // namespace weft::planner
