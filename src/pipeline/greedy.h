// List scheduling: an order of passes for any placement of chunks.
#pragma once

#include "pipeline/schedule.h"

namespace weft::pipeline {

// Fills the empty programs of a schedule with forward and whole backward passes. The order of one
// unit, as many micro-batches as there are devices, is that of devices which, when free, take from
// what has arrived backward passes first and older micro-batches first, all passes taking the same
// time. Units follow each other at the pace at which a device can run them, so that the beginning
// of one fills the gaps at the end of the one before. Requires: routes repeat with every unit.
// Ensures: no deadlock. Cost: O(operations * log operations).
void fill_in_units(Schedule& schedule);

}  // namespace weft::pipeline
