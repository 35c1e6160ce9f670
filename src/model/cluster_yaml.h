// The cluster file: node groups, device types, domains, prices and links as YAML.
#pragma once

#include "model/cluster.h"
#include "model/readers/table_reader.h"

namespace weft {

// docs/formats.md lists the keys.
Result<Cluster> parse_cluster_yaml(const TextFile& file);

}  // namespace weft
