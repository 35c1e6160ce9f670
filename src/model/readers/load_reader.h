// The load of a service over time.
#pragma once

#include <vector>

#include "model/readers/table_reader.h"
#include "model/trace.h"

namespace weft {

inline constexpr Limits kLoadLimits{0, 1e12};

// Columns at_s,requests_per_s: from `at_s` (trace time, ascending) on, so many requests arrive.
// Ensures: at least one step.
Result<std::vector<LoadStep>> parse_load(const TextFile& file);
// Reads `name` relative to the folder of `trace_path`.
Result<std::vector<LoadStep>> read_load(const std::string& trace_path, const std::string& name);

}  // namespace weft
