// What recordings of a job's ranks say: where each rank's time went, and who holds the others up.
#pragma once

#include <string>
#include <vector>

#include "base/units.h"
#include "runtime/record/event.h"
#include "runtime/record/slow.h"

namespace weft::runtime {

struct RankSummary {
  std::uint32_t rank = 0, member = 0;
  std::uint64_t events = 0, lost = 0;  // kept, and overwritten before
  std::uint64_t steps = 0, operations = 0, failed = 0, bytes = 0;
  Seconds span_s = 0;         // from the first event to the last
  Seconds wait_s = 0;         // some thread waited
  Seconds communicate_s = 0;  // some operation was under way, waited for or not
  Seconds compute_s() const { return span_s - wait_s; }
};

struct JobSummary {
  std::vector<RankSummary> ranks;  // by rank
  std::vector<SlowRank> slow;      // ever named by SlowWatch on the steps that all ranks marked
  int slowest = -1;          // place in `ranks` of who computed longest; -1: there is one rank
  double slowest_ratio = 1;  // of its computing to the median of the others
  std::string verdict;       // one sentence
};

JobSummary summarize(const std::vector<Recording>& recordings);

// Trace events that Perfetto and chrome://tracing show: a process for each rank, steps and waits as
// slices, operations as asynchronous ones. Hosts are aligned by their time of day.
std::string perfetto_json(const std::vector<Recording>& recordings);

}  // namespace weft::runtime
