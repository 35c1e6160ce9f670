// The part of the proof that looks at one operation at a time.
#pragma once

#include "base/result.h"
#include "pipeline/schedule.h"

namespace weft::pipeline {

// Ensures: when it is ok, all counts agree, and every number is in range and finite.
// Cost: O(operations + routes * chunks).
Status check_shape(const Schedule& schedule);

}  // namespace weft::pipeline
