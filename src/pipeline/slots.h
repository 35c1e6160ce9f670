// The order of pipelines that run to and fro, from slots of equal length.
#pragma once

#include "pipeline/schedule.h"

namespace weft::pipeline {

// Fills the empty programs with forward and whole backward passes in units of `unit` micro-batches.
// Of a unit's micro-batches the j-th on its route runs the forward pass of chunk c in slot 2j + c
// and its backward pass in slot 2j + 2C - 1 - c, C being the chunks. The devices of two opposite
// routes (Chimera), or of one that turns round at both ends (Hanayo), then have at most one pass in
// each slot; the slots of a unit are all different modulo the passes that a device runs in it, so
// units that follow each other at that pace leave no hole if all passes take the same time.
// Requires: routes of that kind, with the same number of micro-batches each. Ensures: no deadlock.
// Cost: O(operations * log operations).
void fill_slots(Schedule& schedule, int unit);

}  // namespace weft::pipeline
