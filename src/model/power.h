// What a power cap does to a device: its draw and its speed.
#pragma once

#include "model/allocation.h"
#include "model/cluster.h"
#include "model/workload.h"

namespace weft {

// The draw of one device of the type under load, capped at `watts_cap` if above 0; 0 if unknown.
double busy_watts(const DeviceType& type, double watts_cap);
// Its speed at that cap, relative to uncapped: linear between the points of its power curve, in
// proportion to power below the first.
double capped_speed(const DeviceType& type, double watts_cap);
// The cap under which each device of the allocation runs: the lower of the configuration's and the
// allocation's own; 0: none.
double cap_of(const Configuration& configuration, const Allocation& allocation);

}  // namespace weft
