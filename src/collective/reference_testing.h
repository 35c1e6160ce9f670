// A plain executor on numbers, written apart from the verifier: all ranks in one thread; sends
// never wait; an operation is done as soon as its message is there.
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

// Runs the schedule; false when it hangs. With `in_place` the input cells of chunks that the output
// has too are those output cells. Requires: it verifies.
bool execute(const Schedule& schedule, std::vector<Memory>& memory, bool in_place = false);

// The first output cell that is not what the operation promises, in words; empty if there is none.
std::string compare_outputs(const Schedule& schedule, const std::vector<Memory>& memory);

}  // namespace weft::collective
