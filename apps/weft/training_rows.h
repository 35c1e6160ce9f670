// What the ranks of `weft bench training` print, put together into a row for each mode.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace weft {

// One group of ranks that trained for the same number of steps.
struct TrainingRun {
  double parameters = 0;
  double step_s = 0;          // mean of the steps that count, of the slowest rank
  double bytes_per_step = 0;  // that left a rank's interface, mean over ranks
  std::vector<double> loss;   // by step: mean over ranks
  std::vector<double> end_s;  // by step: when the last rank had ended it
  std::vector<bool> common;   // by step: all ranks had the same parameters in it
  std::string choice;         // what an automatic mode has come to, and why
};
// `lines` holds one line of JSON of each rank. An error when a rank's is missing or not whole.
Result<TrainingRun> read_training(const std::string& lines, int ranks);

// Seconds until the mean loss of parameters that all ranks had was at or below `loss`, from the
// begin of the first step to the end of the step that found it; nothing: it never was.
std::optional<double> time_to_loss(const TrainingRun& run, double loss);

// The least loss of common parameters that every one of the runs reached. Requires: at least one.
double loss_reached_by_all(const std::vector<TrainingRun>& runs);

}  // namespace weft
