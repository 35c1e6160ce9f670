// A trace from text that is already in memory.
#pragma once

#include "model/readers/table_reader.h"
#include "model/trace.h"

namespace weft {

// As read_trace(), which reads the file first. Companion files are looked for beside `file.path`.
Result<Trace> parse_trace_text(const TextFile& file, const Cluster& cluster,
                               const TraceOptions& options);

// One of trace_formats(), by the first line and the name of the file; empty: not recognised.
std::string detect_trace_format(const TextFile& file);

}  // namespace weft
