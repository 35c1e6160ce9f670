// Bottleneck, select, scale, iterate: the primal-dual order of coflows.
#pragma once

#include <vector>

#include "fabric/coflow/bundle.h"

namespace weft {

// Puts the bundles into the order of Sincronia's BSSI (Agarwal, Rajakrishnan, Narayan, Agarwal,
// Shmoys, Vahdat, "Sincronia: near-optimal network design for coflows", SIGCOMM 2018), all of
// weight 1, by the bytes they have left. Cost: O(bundles^2 + bundles * links).
void bssi_order(std::vector<Bundle*>& order);

}  // namespace weft
