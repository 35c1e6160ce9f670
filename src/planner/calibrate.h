// Fits the few constants that cannot be looked up to measured runs, and says how well they carry
// over to models that were not fitted.
#pragma once

#include <string>
#include <vector>

#include "planner/evaluate.h"

namespace weft::planner {

// One number that may be fitted: of a device type, of all networks, or of a framework.
struct Constant {
  std::string owner;    // "a100-80", "networks", "megatron-lm"
  std::string name;     // as in hardware.h and framework.h
  std::string meaning;  // one line, with the unit
  double before = 0, after = 0;
};

struct Calibration {
  std::vector<Constant> constants;
  std::vector<ErrorSummary> before, fit;  // as time_errors() gives them
  // Every row predicted with constants fitted without any row of its model.
  std::vector<ErrorSummary> held_out;
  int folds = 0;
};

struct CalibrateOptions {
  int folds = 5;
  int trials = 1500;  // predictions of all rows, for each fit
};

// Sets count alike, however many rows they have. A row's error counts as at most one half,
// so that a straggler does not bend the constants; constants that no row depends on
// stay as they are.
// The error says so when no row has a measured time.
// Cost: trials * (folds + 1) predictions of all rows, about 2 us each.
Result<Calibration> calibrate(std::vector<TrainingRun> runs, const CalibrateOptions& options);

}  // namespace weft::planner
