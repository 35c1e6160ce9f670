// Numbers of commands that are not the controller's. They stand above all of its for an epoch: it
// never sends another after them.
#pragma once

#include <cstdint>

namespace weft::live {

inline constexpr std::uint32_t kLastNumber = 0x7fffffff;  // stops
// One epoch is frozen at most once, and what is frozen can still be stopped.
inline constexpr std::uint32_t kFreezeNumber = kLastNumber - 1;

}  // namespace weft::live
