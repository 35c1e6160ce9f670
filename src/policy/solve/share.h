// Time shares on several device types: which fraction of its time each job should spend on each
// type. Pure functions; the round mechanism that turns shares into placements is elsewhere.
//
// Every solver here works through prices, one per device type. Given prices, what a job buys is
// known in closed form (at most two types, because its fractions sum to at most one), so only as
// many numbers as there are types are searched for, and the prices that are left at the end prove
// how good the answer is. No linear program is solved over jobs.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace weft {

// Requires: capacity >= 0, scale > 0, throughput >= 0, all finite; at most 16 types.
// A job never uses a type that has fewer devices than the job's scale.
struct ShareProblem {
  std::vector<double> capacity;    // devices of each type
  std::vector<double> scale;       // devices a job holds while it runs
  std::vector<double> throughput;  // jobs x types, row by row: work per second of the whole job

  std::size_t jobs() const { return scale.size(); }
  std::size_t types() const { return capacity.size(); }
};

// What level L asks of a job: a throughput of work * L / (1 - delay * L), or the best the job can
// reach alone where that is less. One form covers the whole max-min family; see the makers below.
// Requires: work > 0, delay >= 0.
struct ShareNeed {
  double work = 1;
  double delay = 0;
};

// Ensures: fraction >= 0; every row sums to at most 1; scale-weighted columns fit the capacity.
struct ShareResult {
  std::vector<double> fraction;  // jobs x types, row by row
  // The lowest level of any job that can run at all, and a proof that no shares reach more than
  // `bound`: at `price` (per device; price . capacity = 1) the jobs' needs cost the whole cluster.
  double level = 0;
  double bound = 0;
  std::vector<double> price;
};

// Max-min fairness over throughput / (what the job would get if every job held the same part of
// every type), weighted; Gavel (OSDI 2020) section 4.1. Requires: weight > 0, or empty for equal.
std::vector<ShareNeed> max_min_needs(const ShareProblem& problem, std::span<const double> weight);
// Minimal finish-time unfairness rho = (elapsed + remaining / throughput) / time in isolation;
// Gavel section 4.2 after Themis (NSDI 2020). The level is 1 / rho.
// Requires: remaining > 0, elapsed >= 0, isolated > 0.
std::vector<ShareNeed> finish_time_needs(std::span<const double> remaining_work,
                                         std::span<const double> elapsed_s,
                                         std::span<const double> isolated_s);
// Minimal makespan; Gavel section 4.2. The level is 1 / seconds. Requires: remaining > 0.
std::vector<ShareNeed> makespan_needs(std::span<const double> remaining_work);

// Raises all jobs together until prices stop them or each has reached the best it can do alone.
// Ensures: bound - level <= 1e-7 * bound.  Cost: a few passes over jobs x types.
ShareResult share_max_min(const ShareProblem& problem, std::span<const ShareNeed> needs);

// As above, and then goes on raising the jobs that the prices did not stop: the lexicographically
// largest levels (Gavel section 4.3, water filling).  Cost: at most one share_max_min per type.
ShareResult share_water_filling(const ShareProblem& problem, std::span<const ShareNeed> needs);

// For policies that do not know types apart: all devices as one type on which every job runs as it
// does on type `reference`; and the fractions of such a problem spread over the real types by their
// number of devices, which is fair because to such a policy they are all alike.
ShareProblem as_one_type(const ShareProblem& problem, std::size_t reference);
std::vector<double> spread_over_types(std::span<const double> fraction,
                                      std::span<const double> capacity);

// The 1/n share: every job holds a part capacity / jobs of every type, and never more than all of
// its time. Gavel's isolated policy, and the yardstick of finish-time fairness.
std::vector<double> isolated_fractions(const ShareProblem& problem);

// Ensures: as for ShareResult. With floors that cannot all be met, floors_met is false and the
// result is the best one without floors (as Gavel does for deadlines that are out of reach).
struct ShareValueResult {
  std::vector<double> fraction;
  double value = 0;  // sum of value * fraction
  double bound = 0;  // no shares reach more; value <= optimum <= bound
  bool floors_met = true;
  std::vector<double> price;  // per device
};

// The largest sum of value[j,t] * fraction[j,t] in which each job's throughput is at least its
// floor; Gavel section 4.2. Throughput: value = throughput. Throughput per money: throughput
// divided by the type's price. Deadlines: floor = remaining work / seconds left.
// Requires: value finite, floor >= 0 (or empty).  Ensures: bound - value <= 1e-7 * |bound|.
// Cost: some tens of passes over jobs x types.
ShareValueResult share_max_value(const ShareProblem& problem, std::span<const double> value,
                                 std::span<const double> floor);

}  // namespace weft
