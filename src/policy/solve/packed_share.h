// Time shares for jobs and for pairs of jobs that share devices: Gavel (OSDI 2020), the section on
// space sharing. A pair is one more row of the allocation whose time counts for both of its jobs,
// at the speeds that they were measured at together.
//
// Jobs that do not differ are one kind, so the linear program has two rows per kind and one per
// device type, whatever the number of jobs; it is solved exactly, column by column. Pairs that
// together do no more than one job alone cannot help and are left out.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "policy/solve/share.h"

namespace weft {

// Requires: as for ShareProblem; speeds are within 0 and 1.
struct PackedProblem {
  ShareProblem alone;
  std::vector<int> model;     // of each job, a row of `speed`; -1: shares with nobody
  std::size_t models = 0;     // rows of `speed`
  std::vector<double> speed;  // types x models x models: of the first beside the second, relative
                              // to alone; 0: they may not share a device of that type

  double speed_of(std::size_t type, int first, int second) const {
    return speed[(type * models + static_cast<std::size_t>(first)) * models +
                 static_cast<std::size_t>(second)];
  }
};

struct PairShare {
  std::size_t first, second;     // jobs of equal scale; first < second
  std::vector<double> fraction;  // of time, by type
};

// Ensures: fraction >= 0; all time of a job, alone and in pairs, sums to at most 1; scale-weighted
// columns fit the capacity, a pair counted once.
struct PackedResult {
  std::vector<double> fraction;  // jobs x types, row by row: alone on its devices
  std::vector<PairShare> pairs;  // ascending; a job has about as many as its kind has partners
  double level = 0;              // the lowest of any job that can run
  double bound = 0;              // no shares reach more
};

// The lexicographically largest levels (water filling). Requires: delays are 0.
// Ensures: bound - level <= 1e-6 * bound for up to 256 kinds of jobs. Beyond that pairs are not
// considered; the answer is that of share_water_filling, which no pairs can more than double.
// Cost: about kinds^3.
PackedResult share_packed(const PackedProblem& problem, std::span<const ShareNeed> needs);

}  // namespace weft
