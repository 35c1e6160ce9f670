// How long one training step takes, and what the time goes into.
#pragma once

#include "planner/block.h"

namespace weft::planner {

// Seconds of one step on the critical path. The parts add up to total().
struct StepTime {
  Seconds compute = 0;    // forward and backward passes on the device
  Seconds recompute = 0;  // activations made again, with the exchanges that takes
  Seconds tensor = 0;     // exchanges of tensor and context ranks that nothing hides
  Seconds expert = 0;     // of expert ranks
  Seconds pipeline = 0;   // sends between stages
  Seconds data = 0;       // reduction of gradients and gathering of weights, not hidden
  Seconds bubble = 0;     // waiting for other stages
  Seconds host = 0;       // waiting for the host to issue work
  Seconds optimizer = 0;
  Seconds offload = 0;  // transfers to the host's memory, not hidden
  Seconds other = 0;    // once per step

  Seconds total() const {
    return compute + recompute + tensor + expert + pipeline + data + bubble + host + optimizer +
           offload + other;
  }
};

// One layer as the schedule sees it.
struct LayerTime {
  Seconds forward = 0, backward_input = 0, weight_gradient = 0;  // with everything in them
  // What these are made of.
  Seconds compute = 0, recompute = 0, tensor = 0, expert = 0, host = 0;

  Seconds total() const { return forward + backward_input + weight_gradient; }
};
LayerTime layer_time(const BlockCost& block, const Framework& framework, Recompute recompute);

// What a step's time depends on beyond the layout: memoised by the search.
struct StepParts {
  LayerTime dense, experts;
  EndCost ends;
};
StepParts step_parts(const Workload& work, const Layout& layout);

// Of chunk `chunk` of layout.pipeline * layout.chunks, with embedding and output where they are.
LayerTime chunk_time(const Workload& work, const Layout& layout, const StepParts& parts, int chunk);
// Of layers `from` to `from + count`, with embedding and output if they are first and last.
LayerTime slice_time(const Workload& work, const StepParts& parts, int from, int count);
// One activation, or its gradient, from stage to stage.
Seconds send_time(const Workload& work, const Layout& layout);

// Requires: check(layout, model).ok().  Cost: no allocation; about 100 floating-point operations.
StepTime step_time(const Workload& work, const Layout& layout, const StepParts& parts);
StepTime step_time(const Workload& work, const Layout& layout);

// What comes once a step on a device with `weights` weights whose passes take `stage`: exchanges of
// data ranks that nothing hides, and the optimizer.
Seconds data_time(const Workload& work, const Layout& layout, const LayerTime& stage,
                  double weights);
Seconds optimizer_time(const Workload& work, const Layout& layout, double weights);

}  // namespace weft::planner
