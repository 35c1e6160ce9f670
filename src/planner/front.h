// What time, memory and money cost each other, over everything that could be rented.
#pragma once

#include <vector>

#include "planner/search.h"

namespace weft::planner {

// So many devices of a kind, and what a search found for them.
struct Offer {
  Machines machines;
  int devices = 1;
  SearchAnswer answer;

  // Of one step of `seconds`; in device-hours where the devices have no price.
  double cost(Seconds seconds) const;
};

struct FrontPoint {
  std::size_t offer = 0;
  const Candidate* candidate = nullptr;  // in that offer's answer
  double seconds_per_sample = 0, memory_bytes = 0, cost_per_sample = 0;
};

// Fastest first: for each other point, every one is better in time, memory or cost.
// Requires: all offers have a price, or none has; `offers` outlives the result.
std::vector<FrontPoint> front_of(const std::vector<Offer>& offers);

}  // namespace weft::planner
