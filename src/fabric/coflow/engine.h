// Runs a trace of coflows through one switch under one policy, every flow's end exact.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "fabric/coflow/scheduler.h"

namespace weft {

// The model: a switch without contention inside, one uplink and one downlink at each port, fluid
// flows, no latency.
struct CoflowOptions {
  double bytes_per_s = 128 * kMiB;  // of every link
  // Called after every event with the active bundles, for tests.
  std::function<void(Seconds now, const std::vector<Bundle*>&)> watch;
};

struct CoflowRecord {
  Seconds arrival = 0, end = 0;
  Seconds isolated = 0;  // its busiest port alone
  bool refused = false;
  Seconds time() const { return end - arrival; }
};

struct CoflowRun {
  std::vector<CoflowRecord> coflows;  // as in the trace
  std::uint64_t events = 0, flows = 0;
  double bytes = 0;
};

// Cost: O(events * flows that move) with small constants; FB2010 (700,000 flows): seconds.
CoflowRun run_coflows(const CoflowTrace& trace, const CoflowPolicy& policy,
                      const CoflowOptions& options);

}  // namespace weft
