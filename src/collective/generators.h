// The functions behind algorithms().  Requires: the matching refusal() is empty.
#pragma once

#include "collective/algorithms.h"
#include "collective/schedule.h"

namespace weft::collective {

// Ring: Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations"
// (2009). Rank r talks to r-1 and r+1 only; 2(p-1) rounds of n/p bytes.
Schedule ring_all_reduce(const Request& request);
Schedule ring_reduce_scatter(const Request& request);
Schedule ring_all_gather(const Request& request);

}  // namespace weft::collective
