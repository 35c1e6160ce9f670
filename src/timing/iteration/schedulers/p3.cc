// P3 (Jayarajan et al., MLSys '19): fixed slices, the first needed in the next forward pass first,
// one slice at a time.
#include "timing/iteration/schedulers/schedulers.h"

namespace weft {

// 40,000 parameters of 4 bytes: the bound set by the pull request that brought P3 to MXNet
// (#15124).
constexpr double kSliceBytes = 160'000;

TransferPlan plan_p3(const WithinInput& input) {
  const double slice = input.values.empty() ? kSliceBytes : input.values[0];
  TransferPlan plan = sliced_plan(input.graph, slice, first_use(input.graph));
  plan.credit_bytes = kOneMessage;
  return plan;
}

}  // namespace weft
