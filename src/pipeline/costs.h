// How long operations take: the table that fills in a schedule's times.
#pragma once

#include <vector>

#include "base/result.h"
#include "pipeline/schedule.h"

namespace weft::pipeline {

// Seconds of one micro-batch (all its slices together) on one chunk.
struct ChunkCost {
  double forward = 1;
  double backward_input = 1;
  double weight_gradient = 1;
  double watts = 0;  // while a pass runs
};

struct Costs {
  std::vector<ChunkCost> chunks;      // one for all, or one per chunk: uneven stages
  std::vector<double> slowdown = {};  // per device: all its passes take this many times as long
  double overlapped = 1;  // a fused forward-backward takes this part of the sum of the two
  double recompute = 1;   // recomputation takes this part of the forward pass
  double optimizer = 0;   // seconds per device
  double transfer = 0;    // seconds between neighbouring chunks on different devices, per slice
  double offload = 0;     // seconds of one offload or reload
  double idle_watts = 0;  // of a device that waits
};

// The costs of a device's whole share (forward, backward-input, weight gradient), cut evenly.
Costs even_costs(const Schedule& schedule, const ChunkCost& share);

// Fills in the times, energies and transfer times. The error names what does not fit the schedule.
Status apply_costs(Schedule& schedule, const Costs& costs);

}  // namespace weft::pipeline
