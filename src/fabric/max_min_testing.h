// The plain definition of max-min fairness, as slow and as clear as it can be: the oracle.
#pragma once

#include <vector>

#include "fabric/topology.h"

namespace weft {

struct PlainStream {
  std::vector<LinkId> path;
  std::uint32_t rank = 0;
  double weight = 1, cap = 0;
  std::uint32_t flows = 1;
};

// The rate of each flow of each stream: rank by rank, all flows rise together until a link is full
// or a cap is reached; those stop, the others go on.
std::vector<double> plain_max_min(const std::vector<double>& capacity,
                                  const std::vector<PlainStream>& streams);

}  // namespace weft
