// A plain executor on numbers, written apart from the verifier: all ranks in one thread, sends
// never wait, operations of a round one after another in the order listed.
#pragma once

#include <string>
#include <vector>

#include "collective/schedule.h"

namespace weft::collective {

using Numbers = std::vector<double>;  // what a cell holds: one number per unit of weight

struct Memory {
  std::vector<Numbers> input;
  std::vector<Numbers> output;
  std::vector<Numbers> scratch;
};

// By endpoint. The input of a rank: for each cell as many whole numbers as its chunk weighs, which
// depend on rank, chunk and place.
std::vector<Memory> make_memory(const Schedule& schedule);

// Runs the schedule; false when it hangs. Requires: it verifies.
bool execute(const Schedule& schedule, std::vector<Memory>& memory);

// The first output cell that is not what the operation promises, in words; empty if there is none.
std::string compare_outputs(const Schedule& schedule, const std::vector<Memory>& memory);

}  // namespace weft::collective
