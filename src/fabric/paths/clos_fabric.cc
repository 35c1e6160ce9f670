#include "fabric/paths/clos_fabric.h"

#include "base/check.h"

namespace weft {

std::uint64_t ClosShape::cables() const {
  const std::uint64_t to_spines = std::uint64_t{leaves()} * spines;
  const std::uint64_t to_cores = std::uint64_t{pods()} * spines * cores;
  return ports + to_spines + to_cores;
}

void ClosFabric::wire(Wiring& wiring, const ClosShape& shape, const ClosRates& rates,
                      const std::function<VertexId(std::uint32_t)>& vertex_of, int tier,
                      std::uint8_t cost) {
  shape_ = shape;
  group_size_ = shape.group_size();
  leaves_per_group_ = shape.leaves_per_group();
  const std::uint32_t leaves = shape.leaves(), pods = shape.pods();
  const bool lone = leaves == 1 && shape.spines == 0;
  const VertexId leaf = wiring.add(lone ? "switch" : "leaf", VertexKind::kSwitch, tier, leaves);
  const VertexId spine = wiring.add("spine", VertexKind::kSwitch, tier + 1, pods * shape.spines);
  const VertexId core =
      wiring.add("core", VertexKind::kSwitch, tier + 2, shape.spines * shape.cores);

  first_port_ = wiring.next_link();
  for (std::uint32_t i = 0; i < shape.ports; ++i) {
    wiring.cable(vertex_of(i), leaf + leaf_of(i), rates.port, cost);
  }
  first_spine_ = wiring.next_link();
  for (std::uint32_t l = 0; l < leaves; ++l) {
    for (std::uint32_t s = 0; s < shape.spines; ++s) {
      wiring.cable(leaf + l, spine + l / shape.leaves_per_pod * shape.spines + s, rates.spine,
                   cost);
    }
  }
  first_core_ = wiring.next_link();
  for (std::uint32_t p = 0; p < pods; ++p) {
    for (std::uint32_t s = 0; s < shape.spines; ++s) {
      for (std::uint32_t c = 0; c < shape.cores; ++c) {
        wiring.cable(spine + p * shape.spines + s, core + s * shape.cores + c, rates.core, cost);
      }
    }
  }
}

std::uint32_t ClosFabric::count(std::uint32_t i, std::uint32_t j) const {
  const std::uint32_t from = leaf_of(i), to = leaf_of(j);
  if (from == to) return 1;
  const bool same_pod = from / shape_.leaves_per_pod == to / shape_.leaves_per_pod;
  return same_pod ? shape_.spines : shape_.spines * shape_.cores;
}

void ClosFabric::path(std::uint32_t i, std::uint32_t j, std::uint32_t k,
                      std::vector<LinkId>& out) const {
  CHECK(k < count(i, j));
  const std::uint32_t from = leaf_of(i), to = leaf_of(j);
  out.push_back(first_port_ + 2 * i);
  if (from != to) {
    const std::uint32_t from_pod = from / shape_.leaves_per_pod;
    const std::uint32_t to_pod = to / shape_.leaves_per_pod;
    const std::uint32_t spine = k % shape_.spines, core = k / shape_.spines;
    out.push_back(up_from_leaf(from, spine));
    if (from_pod != to_pod) {
      out.push_back(up_from_spine(from_pod, spine, core));
      out.push_back(up_from_spine(to_pod, spine, core) + 1);
    }
    out.push_back(up_from_leaf(to, spine) + 1);
  }
  out.push_back(first_port_ + 2 * j + 1);
}

}  // namespace weft
