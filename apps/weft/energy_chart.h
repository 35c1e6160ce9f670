// The time-energy frontier as a picture.
#pragma once

#include <string>

#include "planner/energy/energy.h"

namespace weft {

// Points with one clock per operation, the bound as a line, and everything at its fastest.
std::string energy_svg(const std::string& title, const planner::EnergyFrontier& frontier);

}  // namespace weft
