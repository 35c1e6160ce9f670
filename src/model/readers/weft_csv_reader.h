// Weft's own CSV: one job per row, columns by name in any order. docs/formats.md lists them.
#pragma once

#include "model/readers/table_reader.h"
#include "model/trace.h"

namespace weft {

// Rows beginning with '#' are comments. `pairs` may be null; with it, the column `model` must name
// its rows.
Result<Trace> parse_weft_csv(const TextFile& file, const Cluster& cluster,
                             std::shared_ptr<const PairTable> pairs);

// The columns this format knows, required ones first.
const std::vector<std::string>& weft_csv_columns();

std::optional<Level> parse_level(std::string_view name);
std::optional<WorkloadKind> parse_kind(std::string_view name);

}  // namespace weft
