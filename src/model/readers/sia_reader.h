// Sia's workloads (Jayaram Subramanya et al., SOSP '23): elastic jobs with measured profiles.
#pragma once

#include <string>

#include "model/trace.h"

namespace weft {

// Columns name,time,application,num_replicas,batch_size; `options.profiles` is the folder of the
// applications' profiles.
Result<Trace> read_sia_trace(const std::string& path, const Cluster& cluster,
                             const TraceOptions& options);

}  // namespace weft
