#include <algorithm>
#include <map>

#include "fabric/job_network.h"
#include "policy/places/places.h"

namespace weft {
namespace {

std::vector<NodeId> nodes_of(const Cluster& cluster, const Allocation& allocation) {
  std::vector<NodeId> nodes;
  for (const DeviceShare& share : allocation.devices) {
    const NodeId node = cluster.node_of(share.device);
    if (nodes.empty() || nodes.back() != node) nodes.push_back(node);
  }
  return nodes;
}

// A gang that must cross leaves, and the network as the placed jobs are believed to use it.
class Crossing {
 public:
  Crossing(const State& state, const JobState& job, std::uint16_t configuration)
      : state_(state),
        cluster_(state.cluster()),
        job_(job),
        index_(configuration),
        wanted_(job.spec->menu->configurations[configuration]),
        network_(*state.network, state.bandwidth) {
    for (JobId id : state.active) {
      const JobState& other = state.job(id);
      if (other.phase != Phase::kPlaced) continue;
      const std::vector<NodeId> nodes = nodes_of(cluster_, other.held);
      if (nodes.size() < 2) continue;
      network_.set(id, configuration_of(other), nodes, 0);
      spanning_.push_back(id);
      note_leaves(nodes, demand_of(configuration_of(other), nodes.size()));
    }
    network_.settle(0);
  }

  // Of `packed` and two other ways to place the gang, the one that costs least device time.
  void improve(Allocation& packed) const {
    double least = cost(packed);
    for (const bool by_traffic : {false, true}) {
      Allocation other;
      if (least <= 0 || !gather(by_traffic, packed.devices.front().device, other)) continue;
      const double costs = cost(other);
      if (costs >= least) continue;
      least = costs;
      packed = std::move(other);
    }
  }

 private:
  static const Configuration& configuration_of(const JobState& job) {
    return job.spec->menu->configurations[job.held.configuration];
  }
  std::uint32_t leaf_of(NodeId node) const {
    return cluster_.nodes[node].domain[static_cast<int>(Level::kLeaf)];
  }

  void note_leaves(const std::vector<NodeId>& nodes, const NetworkDemand& demand) {
    const Seconds step = demand.before + demand.beside;
    for (std::size_t i = 0; i < nodes.size() && step > 0; ++i) {
      const NodeId next = nodes[(i + 1) % nodes.size()];
      if (leaf_of(nodes[i]) != leaf_of(next)) sends_[leaf_of(nodes[i])] += demand.bytes / step;
    }
  }

  // Devices times the factor by which each job is slowed, in addition to now.
  double cost(const Allocation& allocation) const {
    JobNetwork trial = network_;
    trial.set(job_.id, wanted_, nodes_of(cluster_, allocation), 0);
    trial.settle(0);
    double sum = (trial.slowdown(job_.id) - 1) * static_cast<double>(allocation.devices.size());
    for (JobId id : spanning_) {
      sum += (trial.slowdown(id) - network_.slowdown(id)) *
             static_cast<double>(state_.job(id).held.devices.size());
    }
    return sum;
  }

  // Whole nodes leaf by leaf: those with most of them first, or those that send least.
  bool gather(bool by_traffic, DeviceId like, Allocation& out) const {
    const TypeId type = cluster_.type_of(like);
    std::map<std::uint32_t, std::vector<NodeId>> leaves;
    std::uint32_t size = 0;
    for (NodeId node = 0; node < cluster_.nodes.size(); ++node) {
      if (cluster_.nodes[node].type == type)
        size = std::max<std::uint32_t>(size, cluster_.nodes[node].devices);
    }
    for (NodeId node = 0; node < cluster_.nodes.size(); ++node) {
      if (cluster_.nodes[node].type == type && state_.ledger.free_whole(node) == size) {
        leaves[leaf_of(node)].push_back(node);
      }
    }
    std::vector<std::uint32_t> order;
    for (const auto& [leaf, unused] : leaves) order.push_back(leaf);
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      if (by_traffic && sends(a) != sends(b)) return sends(a) < sends(b);
      return leaves.at(a).size() > leaves.at(b).size();
    });
    std::uint32_t left = wanted_.devices;
    for (std::uint32_t leaf : order) {
      for (NodeId node : leaves.at(leaf)) {
        const std::uint32_t take = std::min(left, size);
        if (take == 0 || !node_suits(state_, node, take, job_, wanted_)) continue;
        append_devices(state_.ledger, node, take, wanted_, out);
        left -= take;
      }
    }
    if (left > 0) return false;
    std::sort(out.devices.begin(), out.devices.end(),
              [](const DeviceShare& a, const DeviceShare& b) { return a.device < b.device; });
    out.configuration = index_;
    fill_hosts(cluster_, wanted_, out);
    return true;
  }
  double sends(std::uint32_t leaf) const {
    const auto at = sends_.find(leaf);
    return at == sends_.end() ? 0 : at->second;
  }

  const State& state_;
  const Cluster& cluster_;
  const JobState& job_;
  std::uint16_t index_;
  const Configuration& wanted_;
  JobNetwork network_;
  std::vector<JobId> spanning_;
  std::map<std::uint32_t, double> sends_;  // bytes per second out of each leaf
};

class NetworkPlace : public Place {
 public:
  bool place(const State& state, const JobState& job, std::uint16_t configuration,
             std::uint32_t replicas, Allocation& out) const override {
    if (!packed_.place(state, job, configuration, replicas, out)) return false;
    const Configuration& wanted = job.spec->menu->configurations[configuration];
    const bool bound = wanted.pack_required && wanted.pack < Level::kCluster;
    if (state.network == nullptr || replicas > 1 || bound || wanted.milli < kWhole) return true;
    const std::vector<NodeId> nodes = nodes_of(state.cluster(), out);
    const auto leaf = [&](NodeId node) {
      return state.cluster().nodes[node].domain[static_cast<int>(Level::kLeaf)];
    };
    const bool crosses = std::any_of(
        nodes.begin(), nodes.end(), [&](NodeId node) { return leaf(node) != leaf(nodes.front()); });
    if (crosses && demand_of(wanted, nodes.size()).any()) {
      Crossing(state, job, configuration).improve(out);
    }
    return true;
  }

 private:
  PackedPlace packed_{NodeOrder::kBest, false, Level::kLeaf};
};

}  // namespace

std::unique_ptr<Place> network_place() { return std::make_unique<NetworkPlace>(); }

}  // namespace weft
