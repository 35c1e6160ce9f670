// Bytes of what a training step keeps.
#pragma once

namespace weft::planner {

inline constexpr double kHalf = 2, kFloat = 4, kMask = 1;  // of an element
inline constexpr double kAdamBytes = 12;  // of a parameter: master weight and two moments

}  // namespace weft::planner
