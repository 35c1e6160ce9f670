// Fitting the step-time model to what a job has shown so far.
#pragma once

#include <span>

#include "model/goodput.h"

namespace weft {

// A step time that a job has shown.
struct Observation {
  Gang gang;
  double local_batch = 1;
  StepTime time;
};

// Least squares of the logarithms of compute and step times, with the priors of Pollux section 4.1:
// what was not seen yet is taken as free (no exchange, no growth with replicas), so that a
// scheduler is drawn to try it. Requires: observations not empty, all times above 0. Cost:
// O(observations) per iteration, at most 60 iterations.
StepTimeModel fit_step_time(std::span<const Observation> observations);

}  // namespace weft
