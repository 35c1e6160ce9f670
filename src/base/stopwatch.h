// Clocks of this process, for reports only: no decision may depend on them.
#pragma once

#include <cstdint>

namespace weft {

// CPU seconds (user + system) used by this process so far.
double process_cpu_seconds();
// CPU seconds used by the calling thread so far.
double thread_cpu_seconds();
// Largest resident set of this process so far, in bytes.
std::int64_t peak_rss_bytes();
// Monotonic nanoseconds. Cost: about 20 ns.
std::int64_t monotonic_ns();

}  // namespace weft
