// Makes beliefs about durations out of the truth, as the user asked for.
#pragma once

#include "base/random.h"
#include "model/trace.h"
#include "sim/options.h"

namespace weft {

// Users' estimates where a job of the trace has one, else the true durations.
EstimateMode default_estimates(const Trace& trace);

class Estimator {
 public:
  Estimator(EstimateMode mode, std::uint64_t seed) : mode_(mode), random_(seed) {}
  // Called once per job, in order of submission. Unknown for kHistory, which the controller learns.
  Estimate of(const TraceJob& job);

 private:
  EstimateMode mode_;
  Random random_;
};

}  // namespace weft
