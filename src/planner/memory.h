// What a device must hold.
#pragma once

#include "planner/framework.h"
#include "planner/layout.h"

namespace weft::planner {

// kPaper: only the terms of Korthikanti et al. 2022: layers' weights at 18 bytes, and activations.
enum class MemoryTerms { kOwn, kPaper };

// Bytes on one device.
struct MemoryUse {
  double weights = 0;
  double gradients = 0;
  double optimizer = 0;
  double activations = 0;  // kept from forward to backward passes
  double output = 0;       // logits and their gradients, on the last stage
  double working = 0;      // what one layer needs while it runs, buffers of exchanges
  double allowance = 0;    // for what an allocator cannot use
  double host = 0;         // offloaded, in the host's memory; not part of total()

  double total() const {
    return weights + gradients + optimizer + activations + output + working + allowance;
  }
};

// Activations of one layer and one micro-batch that stay until its backward pass.
double layer_activation_bytes(const Transformer& model, const Layout& layout, bool with_experts);

// Micro-batches (as shares of a device's layers) that stage `stage` holds at once.
double held_micro_batches(const Layout& layout, int stage);

// Requires: 0 <= stage < layout.pipeline.
MemoryUse memory_use(const Transformer& model, const Framework& framework, const Layout& layout,
                     int stage, MemoryTerms terms = MemoryTerms::kOwn);
// Of a stage with layers `from` to `from + count`, wherever the layout would cut them.
MemoryUse slice_memory(const Transformer& model, const Framework& framework, const Layout& layout,
                       int stage, int from, int count);
// Weights that its device computes with, sharded or not.
double slice_weights(const Transformer& model, const Layout& layout, int from, int count);
// Of the stage that needs most; `host` is that of the stage that offloads most.
MemoryUse most_memory(const Transformer& model, const Framework& framework, const Layout& layout,
                      MemoryTerms terms = MemoryTerms::kOwn);

}  // namespace weft::planner
