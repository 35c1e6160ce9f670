// What one layer, the embedding and the output layer cost for one micro-batch on one device.
#pragma once

#include "base/units.h"
#include "planner/framework.h"
#include "planner/layout.h"

namespace weft::planner {

// Device time without what other ranks send, and apart from it what is exchanged and not hidden.
struct BlockCost {
  Seconds forward = 0;
  Seconds backward_input = 0;   // gradients of activations
  Seconds weight_gradient = 0;  // gradients of weights, and adding them up
  Seconds core = 0;             // of forward: the part that selective recomputation repeats
  Seconds tensor_forward = 0, tensor_backward = 0;  // exchanged between tensor and context ranks
  Seconds expert_forward = 0, expert_backward = 0;  // between expert ranks
  double forward_launches = 0, backward_launches = 0, core_launches = 0;
};

// Everything that a block's cost depends on.
struct Workload {
  const Transformer& model;
  const Machines& machines;
  const Framework& framework;
};

BlockCost layer_cost(const Workload& work, const Layout& layout, bool with_experts);

struct EndCost {
  Seconds embedding = 0;       // both passes, on the first stage
  Seconds output_forward = 0;  // norm, logits and loss, on the last stage
  Seconds output_backward = 0;
  Seconds tensor = 0;  // exchanged, in all of these
};
EndCost end_cost(const Workload& work, const Layout& layout);

}  // namespace weft::planner
