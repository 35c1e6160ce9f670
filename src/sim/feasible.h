// Can the jobs of a trace run on the cluster at all?
#pragma once

#include "base/result.h"
#include "model/trace.h"
#include "policy/policy.h"

namespace weft {

// Names every job (capped) that fits no empty cluster, with what it asks for and what there is.
Status check_feasible(const Cluster& cluster, const Trace& trace);
// The error of a run that came to rest with jobs still waiting.
Error stuck_error(const State& state, const Policy& policy);

}  // namespace weft
