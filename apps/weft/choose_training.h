// `weft bench choose --training`: which codec, synchronisation mode and algorithm a model would be
// trained with, and what everything that was considered would cost.
#pragma once

#include <string>

#include "runtime/chooser.h"

namespace weft {

struct TrainingQuestion {
  double parameters = 0;
  double compute_s = 0;   // of a step on one rank
  std::string optimizer;  // sgd, adam or empty: not known
  bool links_measured = false, json = false;
};

// Prints the answer; returns the exit code.
int choose_training(const TrainingQuestion& question, const runtime::GroupShape& shape);

}  // namespace weft
