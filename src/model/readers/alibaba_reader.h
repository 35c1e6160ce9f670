// Alibaba's 2023 GPU cluster trace (Weng et al., ATC '23): a list of nodes and a list of pods, many
// of which ask for a part of one GPU.
#pragma once

#include "model/cluster.h"
#include "model/readers/table_reader.h"
#include "model/trace.h"

namespace weft {

// Columns sn,cpu_milli,memory_mib,gpu,model. Nodes without a GPU are left out.
Result<Cluster> parse_alibaba_nodes(const TextFile& file);

// Columns name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,
// deletion_time,scheduled_time. A pod lasts from its scheduling (its creation when it was never
// scheduled) to its deletion. Pods without a GPU and pods of no duration are passed over and
// counted. gpu_spec ("V100M16|V100M32") restricts the types; it is dropped on a cluster whose only
// type has no name of its own.
Result<Trace> parse_alibaba_pods(const TextFile& file, const Cluster& cluster);

}  // namespace weft
