// SimGrid beside ours: the same flows, in a process of its own with a deadline.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace weft {

struct LoadSpeed {
  double completions_per_cpu_s = 0;
  std::uint64_t completions = 0;
  std::int64_t peak_rss_bytes = 0;
};

struct SimgridTask {
  std::string pattern;  // random or ring
  std::uint32_t hosts = 0, flows = 0;
  std::uint64_t seed = 1;
  double seconds = 0;  // CPU seconds that count
};

// Runs the program simgrid_flows that stands beside this one. An error says why there is no figure.
// Cost: at most simgrid_deadline_s(task).
Result<LoadSpeed> measure_simgrid(const SimgridTask& task);
// Seconds of wall time after which it is ended.
double simgrid_deadline_s(const SimgridTask& task);

}  // namespace weft
