// A schedule seen as bulk traffic, for whoever times it: runs of rounds in which the same endpoints
// send the same amounts to the same peers are one phase, whatever the number of rounds.
#pragma once

#include <cstdint>
#include <vector>

#include "collective/schedule.h"

namespace weft::collective {

// What one endpoint sends to another in one round.
struct Flow {
  int from = 0;
  int to = 0;
  // Part of the collective's n bytes, density included. A cell of scratch counts with what it has
  // room for, which is what it holds when all chunks weigh the same.
  double fraction = 0;
  bool streamed = false;
  bool operator==(const Flow&) const = default;
};

// Rounds first .. first + repeat - 1 of a stream, in which no endpoint changes to another entry of
// its list.
struct Phase {
  std::int64_t first = 0;
  std::int64_t repeat = 0;
  // Every round has the flows of the first. False where peers move (direct all-to-all) or weights
  // differ; then each round has to be asked for.
  bool same_traffic = true;
};

// One stream of a schedule that keeps lockstep.
// Requires: the schedule outlives it; schedule.lockstep.
class StreamPhases {
 public:
  // Cost: O(entries of all programs), sorted.
  StreamPhases(const Schedule& schedule, int stream);

  const std::vector<Phase>& phases() const { return phases_; }
  // Appends the flows of iteration i of a phase: one for all sends from one endpoint to another of
  // the same `streamed`, ordered by sender.  Cost: O(endpoints * log entries + flows).
  void add_flows(const Phase& phase, std::int64_t i, std::vector<Flow>& flows) const;

 private:
  struct Place {
    const Round* round = nullptr;  // nullptr: past the end
    std::int64_t iteration = 0;
  };
  Place find(int endpoint, std::int64_t number) const;
  bool same_traffic(const Phase& phase) const;
  const Weights& weights_behind(int endpoint, Buffer buffer) const;
  double weight_of(int endpoint, const Cells& cells, std::int64_t i) const;

  const Schedule* schedule_;
  int stream_;
  std::vector<std::vector<std::int64_t>> ends_;  // per endpoint: number of rounds up to an entry
  std::vector<Phase> phases_;
};

}  // namespace weft::collective
