// What a job that changes its speed is believed to take yet, from the regimes it has shown so far.
#pragma once

#include <map>

#include "policy/state.h"

namespace weft {

// Work done at each speed (relative to the rate of the configuration) that the job reported.
// Shockwave (Zheng et al., NSDI '23), prediction of dynamic adaptation: the parts of the work done
// in each regime have a Dirichlet prior that is even over the regimes and weighs as much as all of
// the work; what was done in a regime counts for it. The forecast is the posterior's mean.
class Regimes {
 public:
  // Accounts for the work done since the last call at the speed last reported.
  void observe(const JobState& job, Seconds now);
  // Seconds left on configuration 0. Regimes that were never seen are not foreseen. A job that
  // scales by gradient noise does not return to smaller batches: it is believed to stay as it is;
  // one that follows Accordion goes to and fro.
  // Requires: the job declares its work; its configuration 0 has a rate.
  Seconds time_left(const JobState& job, Seconds now) const;

 private:
  std::map<double, double> work_at_;  // by speed
  double seen_ = 0;                   // work accounted for
  double speed_ = 1;                  // last reported
};

}  // namespace weft
