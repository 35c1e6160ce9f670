// Prices of device types for the *choose* step, and the bound they prove.
#pragma once

#include <span>
#include <vector>

#include "policy/solve/choose.h"

namespace weft {

struct ChoosePrices {
  std::vector<double> price;  // per device of each type
  double bound = 0;           // Lagrangian bound at these prices
  int rounds = 0;
};

// Ensures: bound is at least the value of the linear relaxation of `problem`, and within
// limits.tolerance of it unless limits.price_rounds was reached first.
ChoosePrices find_prices(const ChooseProblem& problem, std::span<const double> warm_price,
                         const ChooseLimits& limits);

}  // namespace weft
