// A network of its own for every node of a cluster that lives on one machine: namespaces joined by
// a bridge, each link as fast as the cluster says, so that what ranks send is as slow as it would
// be between machines. Needs root, `ip` and `tc`.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "model/cluster.h"

namespace weft::live {

// Where ranks of a node run.
struct NodeNetwork {
  std::string space;      // name of the namespace
  std::string interface;  // towards the other nodes
  std::string address;
  double bytes_per_s = 0;  // of its link, each way; 0: not limited
};

class NodeNetworks {
 public:
  // Names that no other store has.
  static std::vector<NodeNetwork> plan(const std::string& store, const Cluster& cluster);
  // Makes them; those that an earlier daemon made for the same cluster stay as they are, with what
  // runs in them.
  static Status make(const std::string& store, const std::vector<NodeNetwork>& networks);
  // Removes all that make() made for the store.
  static void remove(const std::string& store);
};

}  // namespace weft::live
