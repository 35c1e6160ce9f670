// What was asked of a live cluster, out of its journal, as a trace.
#pragma once

#include <string>

#include "model/trace.h"

namespace weft {

struct Demand {
  Cluster cluster;
  std::string policy;   // last in force: a name, or a composition's text
  Trace trace;          // times count from the first job's submission
  long unfinished = 0;  // still wait or run; taken to need what was believed of them
  long left_out = 0;    // services, and jobs that never ran and of which nothing is believed
};

struct DemandOptions {
  Seconds last_s = kNever;  // jobs submitted within so long before the journal's last record
  bool users = false;       // names of jobs begin with who submitted them
};

// Work is counted in seconds on what a job asked for, from what it ran on. Runs that crashed
// without keeping anything count for nothing. The daemon may be running.
Result<Demand> read_demand(const std::string& store, const DemandOptions& options);

// In the format `weft-yaml` (docs/formats.md).
std::string trace_yaml(const Trace& trace, const Cluster& cluster);

}  // namespace weft
