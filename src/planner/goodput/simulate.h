// The same policies, event by event with seeded chance: the check of the closed forms.
#pragma once

#include <cstdint>

#include "planner/goodput/goodput.h"

namespace weft::planner {

struct SimulatedGoodput {
  double goodput = 0;
  double seconds = 0;  // simulated
  long failures = 0;
};

// Runs until so many failures have happened. Failures strike single nodes, or racks, with
// exponential times between them; repairs take exponential times. The interval is that of
// expected_goodput(). Requires: check_case() is ok, failures > 0.  Cost: O(failures * (checkpoints
// between two)).
SimulatedGoodput simulate_goodput(const GoodputCase& goodput_case, Recovery policy, long failures,
                                  std::uint64_t seed);

}  // namespace weft::planner
