// Waiting for something that nobody announces.
#pragma once

#include <chrono>
#include <functional>
#include <thread>

#include "base/stopwatch.h"
#include "base/units.h"

namespace weft::runtime {

// Looks every `every_s` until the condition holds. False: it did not within `deadline_s`.
inline bool wait_until(const std::function<bool()>& condition, Seconds deadline_s,
                       Seconds every_s) {
  const std::int64_t deadline = monotonic_ns() + static_cast<std::int64_t>(deadline_s * 1e9);
  while (!condition()) {
    if (monotonic_ns() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::duration<double>(every_s));
  }
  return true;
}

}  // namespace weft::runtime
