// Could a configuration run on a cluster if nothing else did?
#pragma once

#include <string>

#include "base/result.h"
#include "model/cluster.h"
#include "model/workload.h"

namespace weft::live {

// What is asked of the empty cluster.
struct FitQuestion {
  Configuration configuration;
  std::uint32_t replicas = 1;
  bool spot_ok = false;
};

// Whether the replicas fit, each on devices of one type. Cost: O(nodes · types).
bool fits_empty(const Cluster& cluster, const FitQuestion& question);

// Why not: what was asked for, and the nearest that would fit. Requires: !fits_empty().
Error misfit(const Cluster& cluster, const FitQuestion& question);

}  // namespace weft::live
