// Gavel traces: one tab-separated row per job, speeds from a throughput table.
#pragma once

#include "model/readers/gavel_throughputs.h"
#include "model/trace.h"

namespace weft {

// Columns: job type, command, [working folder,] steps argument, needs data folder, total steps,
// scale factor, priority weight, SLO, arrival. The name of a job is its row from 0, as in Gavel.
Result<Trace> parse_gavel(const TextFile& file, const GavelThroughputs& table,
                          const Cluster& cluster);
Result<Trace> read_gavel(const TextFile& file, const Cluster& cluster, const TraceOptions& options);

}  // namespace weft
