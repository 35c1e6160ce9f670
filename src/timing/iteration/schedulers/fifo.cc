// Baselines: whole tensors, in the order in which the backward pass makes them.
#include "timing/iteration/schedulers/schedulers.h"

namespace weft {

TransferPlan plan_fifo(const WithinInput& input) { return sliced_plan(input.graph, kNoLimit, {}); }

// Each tensor a flow of its own: all that are ready share the links.
TransferPlan plan_per_flow(const WithinInput& input) {
  TransferPlan plan = plan_fifo(input);
  plan.concurrent = true;
  return plan;
}

}  // namespace weft
