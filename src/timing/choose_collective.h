// Which algorithm, with how many chunks, is fastest on a topology: by trying.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "collective/algorithms.h"
#include "timing/schedule_run.h"

namespace weft {

// A collective on a topology: rank r stands on endpoint r.
struct CollectiveQuestion {
  const Topology* topology = nullptr;
  collective::Request request;  // `chunks` 0: as many as is fastest
  double bytes = 0;
  std::vector<Seconds> late;  // by rank
  bool record = false;
  PathRule paths{PathRule::Kind::kDModK};
};

// One thing that was tried, or why it was not.
struct Considered {
  std::string algorithm;
  int chunks = 1;
  Seconds time_s = kNever;
  std::int64_t steps = 0;
  std::string refusal;  // empty: it was timed
  int trees = 0;        // of a synthesised schedule
};

struct CollectiveAnswer {
  Considered best;
  ScheduleTime run;                    // of the best
  collective::Schedule schedule;       // the best
  std::vector<Considered> considered;  // in the order tried
  // What no schedule of ranks alone can go below (synthesis/cut_bound.h); 0: not computed.
  Seconds bound_s = 0;
};

// Where the endpoints of the schedule stand: ranks on endpoints of the same number, servers on the
// endpoints after them, a switch above the first rank it talks to, or if it talks to switches only,
// above the first of those.
Result<Placement> place_schedule(const collective::Schedule& schedule, const Topology& topology);

// `algorithm`: a name, or "auto" for the fastest of those that need nothing but ranks and give
// exact sums. Up to 64 ranks, "synthesised" (synthesis/synthesise.h) is one of them. What a
// topology suggests (sides of a torus, ranks per node or leaf) is filled into the request where it
// says nothing. Candidates that would execute more than `max_messages` are named, not timed.
Result<CollectiveAnswer> choose_collective(const CollectiveQuestion& question,
                                           const std::string& algorithm,
                                           std::int64_t max_messages = 4'000'000);

// Times one schedule, of whatever origin. Requires: verify() accepts it; `question.request` has its
// operation and ranks.
Result<CollectiveAnswer> time_collective(const CollectiveQuestion& question,
                                         collective::Schedule schedule);

}  // namespace weft
