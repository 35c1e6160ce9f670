// A search for an order of passes, given how long they take and how much a device may hold.
#pragma once

#include <vector>

#include "base/result.h"
#include "pipeline/costs.h"
#include "pipeline/schedule.h"

namespace weft::pipeline {

struct SearchRequest {
  int stages = 1;
  int micro_batches = 1;
  double limit = 1;                   // activations per device, as in builder.h
  ChunkCost share = {};               // of a device's whole share
  std::vector<double> slowdown = {};  // per device; empty: none
  double transfer = 0;
  double optimizer = 0;
  double idle_watts = 0;
};

// The schedule with the least makespan among those tried, all of the zero-bubble kind (backward
// passes in two, weight gradients in the gaps): stages in a row with every number of forwards ahead
// that 1 + slope * (stages behind) gives, refined device by device, and V shapes with all offsets
// up to 4. Every candidate gets its weight gradients for the given times and is timed by solve().
// Ensures: verify() is ok with the limit declared; for equal inputs the result is the same.
// Cost: some hundred times solve().
Result<Schedule> search_schedule(const SearchRequest& request);

}  // namespace weft::pipeline
