// Weft's own YAML: jobs with whole menus. docs/formats.md lists the keys.
#pragma once

#include "model/readers/table_reader.h"
#include "model/trace.h"

namespace weft {

// `pairs` may be null; with it, `model` must name its rows.
Result<Trace> parse_weft_yaml(const TextFile& file, const Cluster& cluster,
                              std::shared_ptr<const PairTable> pairs);

}  // namespace weft
