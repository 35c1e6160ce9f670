// The menu of a job from what its steps are predicted to cost, so that policies choose among
// codecs, modes and algorithms without knowing one.
#pragma once

#include <vector>

#include "model/workload.h"
#include "timing/compression/step_cost.h"

namespace weft {

// `asked` first, as it is; then, best first, one configuration for each prediction whose efficiency
// is known: its rate is that of `asked` by as much as a step is shorter than `plain`, its seconds
// of a step those of computing and coding, its traffic what an all-reduce of that many bytes would
// send between `ranks`. What the rank waits for is not among the seconds: on links that are shared
// it is the traffic's doing. Requires: ranks above 1.
Menu compression_menu(const Configuration& asked, const StepPrediction& plain,
                      const std::vector<StepPrediction>& predicted, int ranks);

}  // namespace weft
