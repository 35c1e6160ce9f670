// Sia's workloads (Jayaram Subramanya et al., SOSP '23): elastic jobs with measured profiles.
#pragma once

#include "model/readers/table_reader.h"
#include "model/trace.h"

namespace weft {

// Columns name,time,application,num_replicas,batch_size. `options.profiles` is the folder that has
// one folder of measurements per application; without it ../../traces beside the file, as the
// artifact lays them out. Device types of the cluster are those of the measurements (t4 stands for
// aws, a100 for dgx-ext).
// Ensures: a menu begins with the replicas and the batch size asked for, once per type on which
// they fit, the first on the type whose devices the jobs before it asked for least. Then come, with
// a batch size of the job's own, gangs of 1 .. n devices on a node of n, of multiples of 4 and of
// whole nodes, up to 64 devices. Declared rates of the former are means over the training, so that
// an oracle's estimates are exact; those of the latter assume that speed grows with the devices.
Result<Trace> read_sia(const TextFile& file, const Cluster& cluster, const TraceOptions& options);

}  // namespace weft
