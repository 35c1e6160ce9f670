// Answers "which node has room for k whole devices" without walking the cluster.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "base/units.h"

namespace weft {

// A set of small integers that finds its least member at or after a bound in O(log64 n).
class BitTree {
 public:
  explicit BitTree(std::uint32_t size = 0);
  void insert(std::uint32_t i);
  void erase(std::uint32_t i);
  bool contains(std::uint32_t i) const { return (levels_[0][i >> 6] >> (i & 63)) & 1; }
  // The least member >= from, or kNone.
  std::uint32_t next(std::uint32_t from) const;
  std::uint32_t first() const { return next(0); }
  bool empty() const { return levels_.back()[0] == 0; }

  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

 private:
  // levels_[0] holds the members; bit i of level l+1 says that word i of level l is not zero.
  std::vector<std::vector<std::uint64_t>> levels_;
  std::uint32_t size_ = 0;
};

// Nodes of one device type, filed by how many of their devices are entirely free.
class NodeIndex {
 public:
  NodeIndex(std::uint32_t nodes, std::uint32_t max_devices);

  void file(NodeId node, std::uint32_t free) { levels_[free].insert(node); }
  void unfile(NodeId node, std::uint32_t free) { levels_[free].erase(node); }

  // Lowest-numbered node, at or after `from`, with at least `devices` free; kNoNode if none.
  NodeId first_fit(std::uint32_t devices, NodeId from = 0) const;
  // Fullest node with at least `devices` free, lowest-numbered on ties; kNoNode if none.
  NodeId best_fit(std::uint32_t devices) const;
  // Emptiest node with at least `devices` free, lowest-numbered on ties; kNoNode if none.
  NodeId worst_fit(std::uint32_t devices) const;
  // Lowest-numbered node, at or after `from`, with exactly `devices` free; kNoNode if none.
  NodeId exact(std::uint32_t devices, NodeId from = 0) const;
  std::uint32_t max_devices() const { return static_cast<std::uint32_t>(levels_.size()) - 1; }

 private:
  std::vector<BitTree> levels_;  // [free devices]
};

}  // namespace weft
