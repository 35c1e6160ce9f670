// Pipelines in the shape of a V, built from one block that repeats (Qi and others, "Pipeline
// parallelism with controllable memory", 2024).
#pragma once

#include <array>
#include <optional>

#include "pipeline/schedule.h"
#include "pipeline/schedules.h"

namespace weft::pipeline {

// Each device holds a chunk of the way out and one of the way back. One micro-batch is a block: its
// passes at fixed times, `offset` units from device to device in each of the four legs (out, back,
// back's backward, out's backward). Blocks follow each other every six units, so a device runs
// without conflict if its four passes differ modulo 6; the two weight gradients take what is left.
// Longer offsets keep activations longer: a device holds about sum(offset) * p / 12 of them.
struct VShape {
  Schedule passes;  // forward and backward-input passes only; see weights.h
  double room = 0;  // activations that let the blocks run at full pace
};

// Nothing when the offsets make passes collide.  Requires: all offsets are at least 1.
// Cost: O(stages * micro_batches * log micro_batches).
std::optional<VShape> make_v_shape(const Request& request, const std::array<int, 4>& offset);

}  // namespace weft::pipeline
