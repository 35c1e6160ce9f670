#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "policy/places/places.h"

namespace weft {
namespace {

using Demand = std::tuple<TypeId, std::uint32_t, std::uint32_t, std::uint32_t, Bytes>;

struct ExpectedClass {
  Configuration wanted;
  double weight = 0;  // share of the expected jobs
};

// What is left of one node, and what it would be after a placement.
struct NodeRoom {
  TypeId type = 0;
  std::uint32_t devices = 0, cpu_milli = 0;
  Bytes memory = 0;
  bool limits_cpu = false, limits_memory = false;
  std::array<std::uint16_t, Cluster::kMaxDevicesPerNode> left{};  // milli, by device

  bool suffices(const Configuration& c, std::uint32_t count) const {
    return (!limits_cpu || cpu_milli >= c.cpu_milli * count) &&
           (!limits_memory || memory >= c.host_memory * count);
  }
  void take(const Configuration& c, std::uint32_t device) {
    left[device] = static_cast<std::uint16_t>(left[device] - c.milli);
    if (limits_cpu) cpu_milli -= c.cpu_milli;
    if (limits_memory) memory -= c.host_memory;
  }
};

NodeRoom room_of(const Ledger& ledger, NodeId id) {
  const Node& node = ledger.cluster().nodes[id];
  NodeRoom room;
  room.type = node.type;
  room.devices = node.devices;
  room.limits_cpu = node.cpu_milli != 0;
  room.limits_memory = node.memory != 0;
  if (room.limits_cpu) room.cpu_milli = node.cpu_milli - ledger.used_cpu_milli(id);
  if (room.limits_memory) room.memory = node.memory - ledger.used_host_memory(id);
  for (std::uint32_t d = 0; d < room.devices; ++d) {
    room.left[d] = static_cast<std::uint16_t>(ledger.room_milli(node.first_device + d));
  }
  return room;
}

double fragment(const NodeRoom& room, const Configuration& c) {
  std::uint32_t usable = 0;
  double left = 0, unusable = 0;
  for (std::uint32_t d = 0; d < room.devices; ++d) {
    left += room.left[d];
    if (room.left[d] >= c.milli) {
      ++usable;
    } else {
      unusable += room.left[d];
    }
  }
  const bool fits = usable >= c.devices && room.suffices(c, c.devices) &&
                    (c.type == kAnyType || c.type == room.type);
  return fits ? unusable : left;
}

double fragment(const NodeRoom& room, const std::vector<ExpectedClass>& classes) {
  double sum = 0;
  for (const ExpectedClass& expected : classes)
    sum += expected.weight * fragment(room, expected.wanted);
  return sum;
}

class FragmentationPlace : public Place {
 public:
  FragmentationPlace(std::uint32_t window, std::uint32_t classes)
      : window_(window), classes_(classes) {}

  bool place(const State& state, const JobState& job, std::uint16_t configuration,
             std::uint32_t replicas, Allocation& out) const override {
    const Configuration& wanted = job.spec->menu->configurations[configuration];
    const bool domain =
        wanted.pack_required && wanted.pack > Level::kNode && wanted.pack < Level::kCluster;
    if (replicas > 1 || domain || wanted.devices > Cluster::kMaxDevicesPerNode) {
      return packed_.place(state, job, configuration, replicas, out);
    }
    const std::vector<ExpectedClass> expected = expected_jobs(state);
    NodeId best = kNoNode;
    double least = 0;
    std::vector<std::uint32_t> devices, best_devices;
    for (NodeId id = 0; id < state.cluster().nodes.size(); ++id) {
      if (!may_use(state, job, wanted, id)) continue;
      double added = 0;
      if (!try_node(room_of(state.ledger, id), wanted, expected, devices, added)) continue;
      if (best != kNoNode && added >= least - 1e-9) continue;
      best = id;
      least = added;
      best_devices = devices;
    }
    // Not on one node; whole devices may still be found on several.
    if (best == kNoNode) {
      return wanted.milli == kWhole && packed_.place(state, job, configuration, 1, out);
    }
    out.clear();
    out.configuration = configuration;
    std::sort(best_devices.begin(), best_devices.end());
    for (std::uint32_t d : best_devices) {
      out.devices.push_back({state.cluster().nodes[best].first_device + d,
                             static_cast<std::uint16_t>(wanted.milli), 0, wanted.device_memory});
    }
    fill_hosts(state.cluster(), wanted, out);
    return true;
  }

 private:
  static bool may_use(const State& state, const JobState& job, const Configuration& wanted,
                      NodeId id) {
    const Node& node = state.cluster().nodes[id];
    if (!state.ledger.available(id) || node.devices < wanted.devices) return false;
    if (wanted.type != kAnyType && wanted.type != node.type) return false;
    if (wanted.milli == kWhole && state.ledger.free_whole(id) < wanted.devices) return false;
    return node_suits(state, id, wanted.devices, job, wanted);
  }

  // Takes the job's devices one after the other, each where it adds least. Whole devices are all
  // alike, so the lowest free ones serve.
  static bool try_node(NodeRoom room, const Configuration& wanted,
                       const std::vector<ExpectedClass>& expected,
                       std::vector<std::uint32_t>& devices, double& added) {
    devices.clear();
    const double before = fragment(room, expected);
    double after = before;
    for (std::uint32_t i = 0; i < wanted.devices; ++i) {
      std::uint32_t best = room.devices;
      double least = 0;
      for (std::uint32_t d = 0; d < room.devices; ++d) {
        if (room.left[d] < wanted.milli || taken(devices, d)) continue;
        if (wanted.milli == kWhole) {
          best = d;
          break;
        }
        if (alike(room, d)) continue;
        NodeRoom next = room;
        next.take(wanted, d);
        const double value = fragment(next, expected);
        if (best != room.devices && value >= least - 1e-9) continue;
        best = d;
        least = value;
      }
      if (best == room.devices) return false;
      room.take(wanted, best);
      devices.push_back(best);
    }
    after = fragment(room, expected);
    added = after - before;
    return true;
  }

  static bool taken(const std::vector<std::uint32_t>& devices, std::uint32_t device) {
    return std::find(devices.begin(), devices.end(), device) != devices.end();
  }
  // An earlier device has as much left, so this one need not be tried.
  static bool alike(const NodeRoom& room, std::uint32_t device) {
    return std::find(room.left.begin(), room.left.begin() + device, room.left[device]) !=
           room.left.begin() + device;
  }

  std::vector<ExpectedClass> expected_jobs(const State& state) const {
    std::map<Demand, ExpectedClass> seen;
    const size_t from = state.jobs.size() > window_ ? state.jobs.size() - window_ : 0;
    for (size_t i = from; i < state.jobs.size(); ++i) {
      const Configuration& c = state.jobs[i].spec->requested();
      ExpectedClass& entry = seen[{c.type, c.devices, c.milli, c.cpu_milli, c.host_memory}];
      entry.wanted = c;
      entry.weight += 1;
    }
    std::vector<ExpectedClass> classes;
    for (auto& [demand, entry] : seen) classes.push_back(std::move(entry));
    std::stable_sort(
        classes.begin(), classes.end(),
        [](const ExpectedClass& a, const ExpectedClass& b) { return a.weight > b.weight; });
    if (classes.size() > classes_) classes.resize(classes_);
    return classes;
  }

  std::uint32_t window_, classes_;
  PackedPlace packed_{NodeOrder::kBest};
};

}  // namespace

double fragmentation(const Ledger& ledger, NodeId node, const Configuration& wanted) {
  return fragment(room_of(ledger, node), wanted);
}

std::unique_ptr<Place> fragmentation_place(std::uint32_t window, std::uint32_t classes) {
  return std::make_unique<FragmentationPlace>(window, classes);
}

}  // namespace weft
