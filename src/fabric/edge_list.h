// Any network as a list of vertices and links, in YAML or CSV.
#pragma once

#include "fabric/topology.h"
#include "fabric/wiring.h"
#include "model/readers/table_reader.h"
#include "model/readers/yaml_fields.h"

namespace weft {

// docs/formats.md lists the keys. `changes` holds what the file says of failed and slow links.
struct EdgeList {
  Wiring wiring;
  std::vector<LinkChange> changes;
};
Result<EdgeList> parse_edge_yaml(const TextFile& file, const YAML::Node& root);
Result<EdgeList> parse_edge_csv(const TextFile& file);

}  // namespace weft
