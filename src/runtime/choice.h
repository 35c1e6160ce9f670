// Which schedule an operation runs, and in slices of which size: a cost model of a few numbers that
// mean something, the same on all ranks, so that all choose alike.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/units.h"
#include "collective/algorithms.h"
#include "runtime/call.h"

namespace weft::runtime {

// What moving and adding cost between the ranks of a group. Defaults are those of shared memory.
struct LinkCosts {
  Seconds message_s = 0.6e-6;        // until a small message is with the peer
  double bytes_per_s = 12e9;         // of one link, one way
  double reduce_bytes_per_s = 30e9;  // of adding two buffers in the cache
};
LinkCosts shared_memory_costs();
LinkCosts tcp_costs();

struct GroupShape {
  int ranks = 1;
  int per_host = 1;  // the same on all hosts and in a row; else 1
  bool one_host = true;
  LinkCosts costs;
};

struct Candidate {
  std::string algorithm;
  Seconds expected_s = 0;
};
struct Choice {
  std::string algorithm;
  int chunks = 1;               // of pipelined trees
  std::size_t slice_bytes = 0;  // of the whole data; 0: no more slices than messages need
  Seconds expected_s = 0;
  std::vector<Candidate> considered;
};

// Requires: the operation is one of schedules, not a barrier or point to point.
Choice choose(collective::Operation operation, double bytes, const GroupShape& shape);

}  // namespace weft::runtime
