// What a machine lets its programs have, for reports: time stolen by its host, load, memory speed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace weft {

// Clock ticks of all processors since the start, from the first line of /proc/stat.
struct ProcessorTicks {
  std::uint64_t total = 0, steal = 0;
};
std::optional<ProcessorTicks> parse_processor_ticks(const std::string& stat);
std::optional<ProcessorTicks> processor_ticks();
// Share of the time between two readings that the host of a virtual machine gave to others.
double steal_share(const ProcessorTicks& before, const ProcessorTicks& after);

// Processes that could run, mean of the last minute; nothing where the system does not say.
std::optional<double> load_average();

// Bytes per second of all threads together, each in a buffer of its own too large for caches.
struct MemorySpeed {
  int threads = 0;
  double copied_bytes_per_s = 0;   // memcpy
  double updated_bytes_per_s = 0;  // read and written in place, once
};
// Best of three passes. Cost: 256 MB of memory for each thread, less than a second.
MemorySpeed measure_memory(int threads);

}  // namespace weft
