// Nelder and Mead's search for the least value of a function of a few variables.
#pragma once

#include <functional>
#include <vector>

namespace weft::planner {

// From `start` with first steps of `step`; the function is called about `calls` times. The search
// starts anew from the best point a few times, which gets it out of flat corners.
// Ensures: the result is no worse than `start`. Deterministic.
std::vector<double> minimize(const std::function<double(const std::vector<double>&)>& function,
                             std::vector<double> start, double step, int calls);

}  // namespace weft::planner
