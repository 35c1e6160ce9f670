// The requests with which every algorithm is tried.
#pragma once

#include <vector>

#include "collective/algorithms.h"

namespace weft::collective {

// Requests for so many ranks that the algorithm does not refuse and that differ in a field it
// reads: roots, chunks, rings, nodes, sides, servers, weights.
std::vector<Request> requests_for(const Algorithm& algorithm, int ranks);

// "ring all-reduce, 5 ranks, ..." for messages.
std::string describe(const Algorithm& algorithm, const Request& request);

}  // namespace weft::collective
