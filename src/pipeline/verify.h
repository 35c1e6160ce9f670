// The one verifier of pipeline schedules.
#pragma once

#include "base/result.h"
#include "pipeline/schedule.h"

namespace weft::pipeline {

// Ensures: when it is ok,
//  - the shape is sound (index.h): each pass once, in its place and order;
//  - every operation ends (no deadlock);
//  - no device ever holds more activations than `limits` declares, with the times that the
//    operations carry (times matter only where activations are parked on another device);
//  - both passes of a work use the same weight version; that version was made before; no gradient
//    misses more than `staleness` updates; no device needs more than `weight_versions` versions;
//    every gradient is applied, if there are optimizer operations at all.
// The first fault found is named by device and operation.  Cost: as solve().
Status verify(const Schedule& schedule);

}  // namespace weft::pipeline
