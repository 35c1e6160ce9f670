// Reads recorded outages.
#pragma once

#include <string>
#include <vector>

#include "model/cluster.h"
#include "sim/options.h"

namespace weft {

// CSV with the header at_s,node,duration_s[,notice_s]; node is a number or a node's name.
Result<std::vector<Outage>> read_outages(const std::string& path, const Cluster& cluster);

}  // namespace weft
