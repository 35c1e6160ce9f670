// Small jobs for tests.
#pragma once

#include <vector>

#include "base/random.h"
#include "timing/iteration/generators.h"
#include "timing/iteration/sim.h"

namespace weft {

struct TestJob {
  std::vector<double> links;
  IterationGraph graph;
};

// A chain of layers of (forward, backward, bytes), all-reduced by two workers (a factor of 1) over
// one link.
TestJob chain_job(const std::vector<LayerSpec>& layers, double bytes_per_s, Seconds overhead = 0,
                  Seconds latency = 0);
// Layers with random branches and sizes, either exchange, or a pipeline, over one to three links.
TestJob random_job(Random& random);

// Length of one iteration alone.
Seconds iteration_alone(const TestJob& job, const TransferPlan& plan);

}  // namespace weft
