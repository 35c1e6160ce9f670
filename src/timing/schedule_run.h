// Executes a collective schedule on a fabric in simulated time.
#pragma once

#include <cstdint>
#include <vector>

#include "collective/schedule.h"
#include "fabric/topology.h"
#include "flow/path_choice.h"

namespace weft {

// Where the endpoints of a schedule stand.
struct Placement {
  std::vector<VertexId> vertex;  // by endpoint of the schedule: ranks, then helpers
};

// What is timed.
struct ScheduleTask {
  const collective::Schedule* schedule = nullptr;
  const Topology* topology = nullptr;
  Placement placement;
  double bytes = 0;           // the n of the collective
  std::vector<Seconds> late;  // by rank: seconds after the others that it starts; empty: none
  bool record = false;        // keep every message
  // Gives up when more messages would have to be executed; 0: never.
  std::int64_t max_messages = 0;
  PathRule paths{PathRule::Kind::kDModK};
};

struct TimedMessage {
  int from = 0, to = 0, stream = 0;
  std::int64_t round = 0;
  Seconds start = 0, end = 0;
  double bytes = 0;
};

struct ScheduleTime {
  Seconds time_s = 0;  // until the last rank has ended
  std::int64_t rounds = 0;
  double messages = 0;
  double bytes = 0;                    // put on the wire, links not counted twice
  std::int64_t executed_messages = 0;  // fewer than `messages` where rounds repeat themselves
  bool gave_up = false;                // nothing above is what it would have become
  std::vector<TimedMessage> recorded;
};

// The model. Both sides of a message have to be ready (with `credits`, the sender alone). Then it
// waits for the latency of its path, and its bytes share links with all others by max-min; a
// message that is sprayed goes in equal parts over several paths and has arrived when all parts
// have. A streamed send begins one latency after all that its round receives has begun, and ends no
// sooner than one latency after that has ended. Adding and copying take no time.
//
// When all endpoints stand at the beginning of a round together, with nothing under way, and the
// round before was the same, so is every further one of the same entry: those are counted, not
// executed. A ring of 16,384 ranks costs what a few of its rounds cost.
//
// Requires: verify() accepts the schedule; every placed vertex exists and has a path to its peers.
ScheduleTime run_schedule(const ScheduleTask& task);

}  // namespace weft
