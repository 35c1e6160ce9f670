// What jobs send, for traces that do not say it.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "model/trace.h"

namespace weft {

// One model of the documented table (docs/formats.md, "Traffic of jobs").
struct ModelTraffic {
  std::string name;
  double parameters;
  // Measured seconds of one step on 1, 2, 4 and 8 devices of one machine, batch per device fixed.
  double step_s[4];
};

std::span<const ModelTraffic> traffic_table();

// Seconds of one step on so many devices: that of the nearest measured count, 8 beyond.
Seconds step_seconds(const ModelTraffic& model, std::uint32_t devices);

// Gives every training job whose menu says nothing of traffic a model of the table, drawn by job
// and seed: gradients in 32 bits, summed once per step, from the end of the forward pass on (a
// third of the step). How fast the job is on its own is not touched. Menus stay shared: one per
// menu and model.
void draw_traffic(Trace& trace, std::uint64_t seed);

}  // namespace weft
