// Policies that go on with the nodes that are left.
#pragma once

#include <vector>

#include "planner/goodput/goodput.h"

namespace weft::planner {

// The nodes that a job lacks, as a birth-death process: nodes in use fail, each failed one comes
// back after repair, spares fill in.
struct Shortage {
  // By number of nodes away for repair (0, 1, …): probability; the tail left out is below 1e-12.
  std::vector<double> away;
};
Shortage shortage_of(const GoodputCase& goodput_case);

// Expected speed (1: nobody missing) when `missing` of the job's places, any with equal
// probability, are empty.
double elastic_speed(const GoodputCase& goodput_case, Recovery policy, int missing);

// The speed for given empty places; place i is stage i % stages of pipeline i / stages.
double speed_at(const GoodputCase& goodput_case, Recovery policy, const std::vector<bool>& empty,
                int missing);

// Whether the job cannot go on without the store when the (not empty) place fails.
bool is_fatal(const GoodputCase& goodput_case, Recovery policy, const std::vector<bool>& empty,
              int place);

// The same for a whole rack, when nobody else is missing: its nodes are neighbouring places.
bool rack_is_fatal(const GoodputCase& goodput_case, Recovery policy);
// Whether a lost rack takes all copies of an in-memory checkpoint with it.
bool loses_copies(const GoodputCase& goodput_case);

// The probability of that when `missing` other places are empty, any with equal probability.
double fatal_probability(const GoodputCase& goodput_case, Recovery policy, int missing);

}  // namespace weft::planner
