// What this node has, for the agent to tell.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace weft::live {

struct NodeDevice {
  int index = 0;
  std::string kind;  // "cpu-slot" or "cuda"
  std::string name;
  Bytes memory = 0;
  int major = -1, minor = -1;  // of its device file; -1: it has none
};

// The network of a node that shares its machine with others (live/daemon/node_networks.h); empty:
// the machine's own.
struct NodeReach {
  std::string space;       // name of the namespace
  std::string interface;   // towards other nodes
  std::string address;     // where ranks of other nodes reach those of this one
  double bytes_per_s = 0;  // of its link, whose queue has classes; 0: it has none
};

struct NodeFacts {
  std::string node;
  NodeReach reach;
  std::vector<NodeDevice> devices;
  int cpu_milli = 0;
  std::vector<int> cpus;  // that ranks may use
  Bytes memory = 0;
};

// What a user says instead of what is found; 0 and empty: find it.
struct NodeWishes {
  std::string node;
  int devices = 0;
  int cpu_milli = 0;
  std::string cpus;  // "0-3,6"
  Bytes memory = 0;
  NodeReach reach;
};

// GPUs by the NVIDIA management library if it is there (loaded at run time), else a CPU slot for
// each processor. The error names a list of processors that is wrong.
Result<NodeFacts> discover_node(const NodeWishes& wishes);

Result<std::vector<int>> parse_cpu_list(const std::string& text);

// The address from which this machine reaches host:port, by which others reach it in turn; empty:
// not known, or nobody else does.
std::string address_towards(const std::string& there);

nlohmann::json to_json(const NodeDevice& device);

}  // namespace weft::live
