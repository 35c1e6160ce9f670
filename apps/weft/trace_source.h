// Where jobs come from: a file, or the generator.
#pragma once

#include <string>
#include <vector>

#include "model/trace.h"
#include "policy/draft.h"
#include "sim/metrics.h"

namespace weft {

// `source` is a path or, as in gen:kalos,jobs=1000, a generator, which then draws another trace for
// each seed. Arrivals come `load` times as fast as recorded.
Result<Trace> load_trace(const std::string& source, const Cluster& cluster,
                         const TraceOptions& options, double load, std::uint64_t seed);

// Tells the life of one job in sentences: what it needed, what was free, who was ahead.
std::string explanation(const std::string& name, const Submission& spec, const JobRecord& record,
                        const std::vector<Reason>& reasons, const std::string& policy);

}  // namespace weft
