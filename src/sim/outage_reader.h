// Reads recorded outages.
#pragma once

#include <string>
#include <vector>

#include "model/cluster.h"
#include "sim/options.h"

namespace weft {

// CSV with the header at_s,node,duration_s and then perhaps notice_s and device, in any order. A
// node is a number or a node's name; a device is its number within the node, from 0; empty: all of
// the node.  Ensures: outages ascend by `at`.
Result<std::vector<Outage>> read_outages(const std::string& path, const Cluster& cluster);
// The same from text; `path` is named in errors.
Result<std::vector<Outage>> parse_outages(const std::string& text, const std::string& path,
                                          const Cluster& cluster);

}  // namespace weft
