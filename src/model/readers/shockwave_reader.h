// Shockwave traces: Gavel's rows with a mode of batch-size adaptation and a duration.
#pragma once

#include "model/readers/gavel_throughputs.h"
#include "model/trace.h"

namespace weft {

// Columns: as Gavel's, with the mode (static, accordion, gns) after the scale factor and the
// duration before the arrival. The duration is that of the job without adaptation on the authors'
// devices; steps over duration is therefore the rate, on any type, unless `table` is given.
// `table` may be null.
Result<Trace> parse_shockwave(const TextFile& file, const GavelThroughputs* table,
                              const Cluster& cluster);
Result<Trace> read_shockwave(const TextFile& file, const Cluster& cluster,
                             const TraceOptions& options);

}  // namespace weft
