// Where weight gradients go when the order of all other passes is given.
#pragma once

#include "pipeline/costs.h"
#include "pipeline/schedule.h"

namespace weft::pipeline {

// Adds the weight gradients: a device runs those that fit in a gap in which it would wait, oldest
// first, and those it must run before a forward pass so as not to hold more than `room`
// activations. A room of 0 stands for the most that any device holds if every weight gradient comes
// at once. Requires: the programs have forward and backward-input passes only, and these do not
// deadlock. Cost: O(operations).
Schedule with_weight_gradients(Schedule schedule, const Costs& costs, double room);

}  // namespace weft::pipeline
