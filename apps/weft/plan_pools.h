// `weft plan search` on several kinds of devices at once.
#pragma once

#include <string>
#include <vector>

#include "planner/pools.h"

namespace weft {

struct PoolQuestion {
  planner::Transformer model;
  planner::Framework framework;
  std::vector<planner::Pool> pools;
  int batch = 1, keep = 10;
  bool json = false, csv = false, markdown = false;
};

// Searches and prints; returns the exit code.
int plan_pools(const PoolQuestion& question);

}  // namespace weft
