#include <algorithm>

#include "policy/places/places.h"

namespace weft {
namespace {

std::uint64_t mix(std::uint64_t job, std::uint64_t node) {
  std::uint64_t z = (job + 1) * 0x9e3779b97f4a7c15ULL ^ (node + 1) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 30)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

class RandomPlace : public Place {
 public:
  bool place(const State& state, const JobState& job, std::uint16_t configuration,
             std::uint32_t replicas, Allocation& out) const override {
    const Configuration& wanted = job.spec->menu->configurations[configuration];
    const bool bound = wanted.pack_required && wanted.pack < Level::kCluster;
    if (wanted.milli < kWhole || bound || replicas > 1) {
      return PackedPlace(NodeOrder::kBest, true).place(state, job, configuration, replicas, out);
    }
    for (TypeId type = 0; type < state.cluster().types.size(); ++type) {
      if (wanted.type != kAnyType && wanted.type != type) continue;
      if (state.ledger.free_whole_of(type) >= wanted.devices &&
          scatter(state, job, wanted, type, out)) {
        out.configuration = configuration;
        out.replicas = 1;
        fill_hosts(state.cluster(), wanted, out);
        return true;
      }
    }
    return false;
  }

 private:
  static bool scatter(const State& state, const JobState& job, const Configuration& wanted,
                      TypeId type, Allocation& out) {
    const Cluster& cluster = state.cluster();
    if (cluster.types[type].memory != 0 && wanted.device_memory > cluster.types[type].memory) {
      return false;
    }
    std::vector<std::pair<std::uint64_t, NodeId>> order;
    for (NodeId node = 0; node < cluster.nodes.size(); ++node) {
      if (cluster.nodes[node].type != type || state.ledger.free_whole(node) == 0) continue;
      order.emplace_back(mix(job.id, node), node);
    }
    std::sort(order.begin(), order.end());
    out.devices.clear();
    std::uint32_t left = wanted.devices;
    for (const auto& [unused, node] : order) {
      const std::uint32_t take = std::min(left, state.ledger.free_whole(node));
      if (take == 0 || !node_suits(state, node, take, job, wanted)) continue;
      append_devices(state.ledger, node, take, wanted, out);
      left -= take;
    }
    std::sort(out.devices.begin(), out.devices.end(),
              [](const DeviceShare& a, const DeviceShare& b) { return a.device < b.device; });
    return left == 0;
  }
};

}  // namespace

std::unique_ptr<Place> random_place() { return std::make_unique<RandomPlace>(); }

}  // namespace weft
