// Gives every node of a cluster its leaf, rack and pod, by name or by counting.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "model/cluster.h"

namespace weft {

// How many nodes make a leaf, leaves a rack, racks a pod; 0: not counted.
struct DomainCounts {
  std::uint64_t nodes_per_leaf = 0, leaves_per_rack = 0, racks_per_pod = 0;
};

// Names of a node's domains; an empty one is the only domain of its kind in the one above.
struct DomainPath {
  std::string leaf, rack, pod;
  bool empty() const { return leaf.empty() && rack.empty() && pod.empty(); }
};

class DomainNames {
 public:
  explicit DomainNames(const DomainCounts& counts) : counts_(counts) {}

  // Places a run of like nodes, in the order of the file. Nodes without a path are counted into
  // leaf-0, leaf-1, … as the counts say. Returns why the path contradicts an earlier one, or an
  // empty string.
  std::string place(const DomainPath& path, Node* nodes, std::size_t count);
  // By level, in order of first use; empty when no node was named or counted.
  std::array<std::vector<std::string>, kLevels> take_names();

 private:
  struct Domain {
    std::uint32_t index = 0;
    std::uint32_t above = 0;
  };
  using Indices = std::array<std::uint32_t, kLevels>;
  std::string find(const DomainPath& path, Indices& indices);
  DomainPath counted_path() const;

  DomainCounts counts_;
  std::uint64_t counted_ = 0;
  bool any_ = false;
  std::array<std::unordered_map<std::string, Domain>, kLevels> domains_;
  std::array<std::vector<std::string>, kLevels> names_;
};

}  // namespace weft
