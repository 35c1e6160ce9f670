// Minimum-cost matching, and AlloX's schedule that is made of it.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace weft {

// The column of each row such that no two rows share a column and the costs sum to a minimum.
// Requires: rows <= columns; cost row by row, finite.  Ensures: equal inputs, equal answers.
// Cost: O(rows^2 x columns); shortest augmenting paths with potentials (Jonker, Volgenant 1987).
std::vector<std::size_t> min_cost_matching(std::size_t rows, std::size_t columns,
                                           std::span<const double> cost);

// One job after the other on each machine, with the least total completion time.
struct MachineSlot {
  std::size_t type = 0;
  std::size_t machine = 0;    // among the machines of its type
  std::size_t from_last = 0;  // how many jobs run after it there; the largest starts first
};

// AlloX (Le et al., EuroSys 2020): a job that runs with k - 1 others after it on a machine delays k
// jobs by its processing time, so the order is a matching of jobs with places counted from the end.
// Machines of a type are alike, hence only the first places of each are offered.
// Requires: processing_s > 0, jobs x types row by row, +infinity where a job cannot run; every job
// can run on a type that has machines.  Cost: O(jobs^3 x types).
std::vector<MachineSlot> allox_schedule(std::span<const double> processing_s,
                                        std::span<const std::size_t> machines);

}  // namespace weft
