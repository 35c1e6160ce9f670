// Plans ahead for one job at a time: on which devices, from when to when, so that it ends in time.
#pragma once

#include <vector>

#include "policy/allocators/calendar.h"

namespace weft {

// Stays of one job on definite devices, in order of time and apart from each other.
using Plan = std::vector<Booking>;

class PlanSearch {
 public:
  // `restart`: seconds without progress after every start and every change of devices.
  // Requires: state and place outlive this.
  PlanSearch(const State& state, const Place& place, Seconds restart)
      : state_(state), place_(place), restart_(restart) {}

  // The smallest share with which the job ends by its deadline: as many devices as are free, up to
  // the share, at any time (ElasticFlow's minimum satisfactory share, found by progressive
  // filling). False if no share is enough.
  bool least(const Calendar& others, JobId job, Plan& out) const;
  // As above for a share that is given. False if the job does not end by `latest_end`.
  // Cost: O(n (n + devices)) for n bookings of others.
  bool fill(const Calendar& others, JobId job, std::uint32_t share, Seconds latest_end,
            Plan& out) const;

  // Device counts the job can run on, ascending: powers of two within a node and whole nodes
  // beyond, which leave no gaps when nodes are filled best fit, and what it asked for.
  std::vector<std::uint32_t> shares(const JobState& job) const;
  // When the job ends if it follows the plan from now on; kNever: not before the plan does.
  Seconds end_of(JobId job, const Plan& plan) const;
  // Work believed left, taking the beginning of a run for lost as long as a restart takes.
  double work_left(const JobState& job) const;
  // Believed work per second there.
  double speed(const JobState& job, const Allocation& on) const;
  static double device_seconds(const Plan& plan);

 private:
  struct Stay {
    Allocation on;
    double speed = 0;
    Seconds overhead = 0;  // until it makes progress
  };

  bool fill_firm(const Calendar& others, JobId job, std::uint32_t share, Seconds latest_end,
                 Plan& out) const;
  std::vector<std::uint16_t> offers(const JobState& job, std::uint32_t share) const;
  bool find(const Calendar& others, const JobState& job, const std::vector<std::uint16_t>& offers,
            const Booking& when, Stay& out) const;
  Seconds overhead_left(const JobState& job) const;

  const State& state_;
  const Place& place_;
  Seconds restart_;
};

}  // namespace weft
