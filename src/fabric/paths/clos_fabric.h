// A folded Clos network of one to three levels over any set of ports: hosts, or the NICs of nodes.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "fabric/wiring.h"

namespace weft {

struct ClosRates {
  LinkRate port, spine, core;  // port to leaf, leaf to spine, spine to core
};

// Ports are counted into leaves, leaves into pods. Every leaf of a pod has a cable to each of the
// pod's spines; spine s of every pod has a cable to each of core group s (the fat-tree of Al-Fares,
// Loukissas and Vahdat, SIGCOMM 2008, with free widths).
struct ClosShape {
  std::uint32_t ports = 0;
  std::uint32_t group = 0;  // ports that share leaves with each other only; 0: all
  std::uint32_t per_leaf = 1;
  std::uint32_t leaves_per_pod = 1;
  std::uint32_t spines = 0;  // per pod; 0: the leaves are the top
  std::uint32_t cores = 0;   // per spine of a pod; 0: the pods are islands

  std::uint32_t group_size() const { return group == 0 ? ports : group; }
  std::uint32_t groups() const { return (ports + group_size() - 1) / group_size(); }
  std::uint32_t leaves_per_group() const { return (group_size() + per_leaf - 1) / per_leaf; }
  std::uint32_t leaves() const { return groups() * leaves_per_group(); }
  std::uint32_t pods() const { return (leaves() + leaves_per_pod - 1) / leaves_per_pod; }
  // Cables, counted without overflow.
  std::uint64_t cables() const;
};

// Knows the paths between ports by arithmetic alone.
class ClosFabric {
 public:
  // Adds the switches and cables. `vertex_of` gives the vertex of each port; `tier` is that of the
  // leaves. `cost` is the routing cost of each cable.
  void wire(Wiring& wiring, const ClosShape& shape, const ClosRates& rates,
            const std::function<VertexId(std::uint32_t)>& vertex_of, int tier, std::uint8_t cost);

  const ClosShape& shape() const { return shape_; }
  // Paths between two ports: one in a leaf, one per spine in a pod, one per core beyond it.
  // Requires: i != j.
  std::uint32_t count(std::uint32_t i, std::uint32_t j) const;
  void path(std::uint32_t i, std::uint32_t j, std::uint32_t k, std::vector<LinkId>& out) const;

 private:
  std::uint32_t leaf_of(std::uint32_t port) const {
    return port / group_size_ * leaves_per_group_ + port % group_size_ / shape_.per_leaf;
  }
  LinkId up_from_leaf(std::uint32_t leaf, std::uint32_t spine) const {
    return first_spine_ + 2 * (leaf * shape_.spines + spine);
  }
  LinkId up_from_spine(std::uint32_t pod, std::uint32_t spine, std::uint32_t core) const {
    return first_core_ + 2 * ((pod * shape_.spines + spine) * shape_.cores + core);
  }

  ClosShape shape_;
  std::uint32_t group_size_ = 1, leaves_per_group_ = 1;
  LinkId first_port_ = 0, first_spine_ = 0, first_core_ = 0;
};

}  // namespace weft
