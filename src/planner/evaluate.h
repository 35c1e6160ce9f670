// Predictions beside measurements.
#pragma once

#include <string>
#include <vector>

#include "planner/memory.h"
#include "planner/rows.h"
#include "planner/step_time.h"

namespace weft::planner {

struct Prediction {
  StepTime time;
  MemoryUse memory;              // of the stage that needs most
  double memory_part_bytes = 0;  // what the row's measured memory is to be compared with
};

Prediction predict(const TrainingRun& run, MemoryTerms terms);
std::vector<Prediction> predict(const std::vector<TrainingRun>& runs, MemoryTerms terms);

// Signed, in per cent: above 0 when the prediction is too high.
double error_pct(double predicted, double measured);

struct ErrorSummary {
  std::string set;
  int rows = 0;
  double mean_abs_pct = 0, max_abs_pct = 0;
  double median_ratio = 0;  // predicted / measured
};
// Of rows with a measured time (or memory), all together first, then by set in order of appearance.
// Empty when no row has one.
std::vector<ErrorSummary> time_errors(const std::vector<TrainingRun>& runs,
                                      const std::vector<Prediction>& predictions);
std::vector<ErrorSummary> memory_errors(const std::vector<TrainingRun>& runs,
                                        const std::vector<Prediction>& predictions);

// How well predictions choose among the measured layouts of one model on one number of devices, by
// time per sample.
struct ChoiceSummary {
  int groups = 0;              // with at least three rows
  double mean_regret_pct = 0;  // our first choice, measured, above the best measured
  double max_regret_pct = 0;
  double mean_tau = 0;  // Kendall's rank correlation
};
ChoiceSummary choices(const std::vector<TrainingRun>& runs,
                      const std::vector<Prediction>& predictions);

}  // namespace weft::planner
