// The training software: what it launches, in which number format it accumulates, what it overlaps.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace weft::planner {

// The four numbers are all that was fitted to measured runs of a framework; the rest is what its
// documentation says it does.
struct Framework {
  std::string name;
  // Host time to issue one operation of a forward, or a backward, pass. A pass takes as long as the
  // host needs to issue it, or the device to run it, whichever is longer.
  double host_forward_s = 0;
  double host_backward_s = 0;
  double step_s = 0;            // once per step: data, logging, loss scale
  double accumulate_bytes = 0;  // memory traffic per weight and micro-batch to add gradients up

  bool flash_attention = false;
  bool fused_softmax = true;        // one kernel, but only where heads * samples is a multiple of 4
  bool shards_optimizer = false;    // ZeRO 1 (distributed optimizer) unless a layout says otherwise
  bool overlaps_gradients = false;  // their reduction, with the last micro-batch's backward pass
  double gradient_bytes = 2;        // of one gradient when it is reduced
  double kept_gradient_bytes = 4;   // of one gradient while it is accumulated
  double optimizer_bytes = 30;      // memory traffic per weight of one Adam step
};

const std::vector<Framework>& frameworks();
Result<Framework> find_framework(const std::string& name);

}  // namespace weft::planner
