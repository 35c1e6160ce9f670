// Seconds as the timers of Asio take them.
#pragma once

#include <chrono>
#include <cstdint>

#include "base/units.h"

namespace weft::live {

inline std::chrono::milliseconds milliseconds(Seconds s) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(s * 1000));
}

}  // namespace weft::live
