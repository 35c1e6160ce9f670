// Echelon-type arrangement (Pan et al., HotNets '22): each transfer has an ideal finish time, the
// moment at which computation would use it on an ideal network; the earliest is served first, on
// every link, whatever wire it comes from. On one link this earliest-due-date rule with preemption
// makes the largest lateness least.
#include "flow/key.h"
#include "timing/iteration/schedulers/schedulers.h"

namespace weft {

TransferPlan plan_echelon(const WithinInput& input) {
  const std::vector<Seconds> ideal_finish = first_use(input.graph);
  TransferPlan plan = sliced_plan(input.graph, kNoLimit, ideal_finish, dense_ranks(ideal_finish));
  plan.concurrent = true;  // ranks, not a queue, decide
  return plan;
}

}  // namespace weft
