// Runs as rows of a CSV file: a model, machines, a layout and, where somebody measured it, what
// came out. docs/planner.md lists the columns.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/readers/table_reader.h"
#include "planner/framework.h"
#include "planner/layout.h"

namespace weft::planner {

// The set of rows that name none.
inline constexpr const char* kNoSet = "rows";

enum class MemoryPart { kTotal, kWeights, kActivations };

struct TrainingRun {
  long line = 0;
  std::string set;    // where it was published; rows of one set are summed up together
  std::string label;  // the model, as the row names it
  Transformer model;
  Machines machines;
  Framework framework;
  Layout layout;
  std::optional<double> measured_s;
  std::optional<double> measured_memory_bytes;
  MemoryPart memory_part = MemoryPart::kTotal;
  // States a formula of Korthikanti et al. 2022, which nobody measured.
  bool formula = false;
};

// Two forms of header are known: that of vTrain's measurements and that of published tables.
// All mistakes are reported with their line.
Result<std::vector<TrainingRun>> parse_runs(const TextFile& file);
Result<std::vector<TrainingRun>> read_runs(const std::string& path);

}  // namespace weft::planner
