// A configuration of a menu as YAML.
#pragma once

#include "model/readers/yaml_fields.h"
#include "model/workload.h"

namespace weft {

// Complains in the report of whatever is wrong and gives a configuration all the same.
Configuration read_yaml_configuration(YamlReport& report, const YAML::Node& node,
                                      const Cluster& cluster);

}  // namespace weft
