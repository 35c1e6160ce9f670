#include "policy/place.h"

#include <algorithm>
#include <bit>

#include "base/check.h"

namespace weft {
namespace {

bool has_host_demand(const Configuration& c) {
  return c.cpu_milli != 0 || c.host_memory != 0 || c.storage_bytes_per_s != 0 ||
         c.network_guarantee != 0 || c.network_limit != 0;
}

// The search for one gang on devices of one type.
class GangSearch {
 public:
  GangSearch(const State& state, const JobState& job, const Configuration& configuration,
             TypeId type, NodeOrder order, const Allocation& taken)
      : state_(state),
        ledger_(state.ledger),
        cluster_(state.cluster()),
        job_(job),
        configuration_(configuration),
        index_(state.ledger.index(type)),
        type_(type),
        order_(order),
        taken_(taken),
        filtered_(has_host_demand(configuration) || !job.spec->spot_ok || !taken.empty() ||
                  !state.closures.empty() || needs_domain()) {}

  bool run(bool scatter, Allocation& out) {
    const Bytes memory = cluster_.types[type_].memory;
    if (memory != 0 && configuration_.device_memory > memory) return false;
    if (configuration_.milli < kWhole) return share_devices(out);
    if (needs_domain()) return run_in_domains(scatter, out);
    return pack(out) || (scatter && spread(out));
  }

 private:
  bool needs_domain() const {
    return configuration_.pack_required && configuration_.pack > Level::kNode &&
           configuration_.pack < Level::kCluster;
  }

  // Free devices of the node that this placement has not handed out already.
  std::uint32_t room(NodeId node) const {
    const std::uint32_t free = ledger_.free_whole(node);
    return free - std::min(free, devices_on(node, taken_));
  }

  std::uint32_t devices_on(NodeId node, const Allocation& allocation) const {
    return static_cast<std::uint32_t>(
        std::count_if(allocation.devices.begin(), allocation.devices.end(),
                      [&](const DeviceShare& s) { return cluster_.node_of(s.device) == node; }));
  }

  bool suits(NodeId node, std::uint32_t devices) const {
    if (!filtered_) return true;
    if (domain_ != kNoNode &&
        cluster_.nodes[node].domain[static_cast<int>(configuration_.pack)] != domain_) {
      return false;
    }
    return room(node) >= devices &&
           node_suits(state_, node, devices + devices_on(node, taken_), job_, configuration_);
  }

  NodeId find(std::uint32_t devices) const {
    if (!filtered_) {
      switch (order_) {
        case NodeOrder::kFirst:
          return index_.first_fit(devices);
        case NodeOrder::kBest:
          return index_.best_fit(devices);
        case NodeOrder::kWorst:
          return index_.worst_fit(devices);
      }
    }
    if (order_ == NodeOrder::kFirst) {
      NodeId node = index_.first_fit(devices);
      while (node != kNoNode && !suits(node, devices)) node = index_.first_fit(devices, node + 1);
      return node;
    }
    const std::uint32_t most = index_.max_devices();
    for (std::uint32_t step = devices; step <= most; ++step) {
      const std::uint32_t level = order_ == NodeOrder::kBest ? step : most - (step - devices);
      NodeId node = index_.exact(level);
      while (node != kNoNode && !suits(node, devices)) node = index_.exact(level, node + 1);
      if (node != kNoNode) return node;
    }
    return kNoNode;
  }

  // Consolidated: entirely free largest nodes, then one node for the rest.
  bool pack(Allocation& out) const {
    const std::uint32_t most = index_.max_devices();
    std::uint32_t left = configuration_.devices;
    if (most == 0) return false;
    const bool one_node = configuration_.pack_required && configuration_.pack == Level::kNode;
    if (one_node && left > most) return false;
    NodeId node = 0;
    const size_t start = out.devices.size();
    while (left >= most) {
      node = index_.exact(most, node);
      while (node != kNoNode && !suits(node, most)) node = index_.exact(most, node + 1);
      if (node == kNoNode) break;
      append_devices(ledger_, node, most, configuration_, out);
      left -= most;
      ++node;
    }
    if (left > 0 && left < most) {
      node = find_rest(left, out, start);
      if (node != kNoNode) {
        append_devices(ledger_, node, left, configuration_, out);
        left = 0;
      }
    }
    if (left == 0) return true;
    out.devices.resize(start);
    return false;
  }

  // A node for the remainder that is not one of the whole nodes just taken.
  NodeId find_rest(std::uint32_t left, const Allocation& out, size_t start) const {
    NodeId node = find(left);
    if (start == out.devices.size() || node == kNoNode) return node;
    const auto used = [&](NodeId id) {
      return std::any_of(
          out.devices.begin() + static_cast<std::ptrdiff_t>(start), out.devices.end(),
          [&](const DeviceShare& share) { return cluster_.node_of(share.device) == id; });
    };
    if (!used(node)) return node;
    const std::uint32_t most = index_.max_devices();
    // Only entirely free nodes can be in use already; every other level was searched before them
    // by best fit, and after them by worst fit.
    NodeId best = kNoNode;
    for (std::uint32_t level = left; level <= most; ++level) {
      NodeId candidate = index_.exact(level);
      while (candidate != kNoNode && (used(candidate) || !suits(candidate, left))) {
        candidate = index_.exact(level, candidate + 1);
      }
      if (candidate == kNoNode) continue;
      if (order_ == NodeOrder::kBest) return candidate;
      best = order_ == NodeOrder::kWorst ? candidate : std::min(best, candidate);
    }
    return best;
  }

  // Scattered: emptiest nodes first.
  bool spread(Allocation& out) const {
    if (configuration_.pack_required && configuration_.pack == Level::kNode) return false;
    std::uint32_t left = configuration_.devices;
    const size_t start = out.devices.size();
    for (std::uint32_t level = index_.max_devices(); level > 0 && left > 0; --level) {
      for (NodeId node = index_.exact(level); node != kNoNode && left > 0;
           node = index_.exact(level, node + 1)) {
        const std::uint32_t take = std::min(left, filtered_ ? room(node) : level);
        if (take == 0 || !suits(node, take)) continue;
        append_devices(ledger_, node, take, configuration_, out);
        left -= take;
      }
    }
    if (left == 0) return true;
    out.devices.resize(start);
    return false;
  }

  bool run_in_domains(bool scatter, Allocation& out) {
    const int level = static_cast<int>(configuration_.pack);
    std::vector<std::uint32_t> free;
    for (NodeId id = 0; id < cluster_.nodes.size(); ++id) {
      const Node& node = cluster_.nodes[id];
      if (node.type != type_) continue;
      if (node.domain[level] >= free.size()) free.resize(node.domain[level] + 1);
      free[node.domain[level]] += ledger_.free_whole(id);
    }
    std::vector<std::uint32_t> order;
    for (std::uint32_t d = 0; d < free.size(); ++d) {
      if (free[d] >= configuration_.devices) order.push_back(d);
    }
    if (order_ == NodeOrder::kBest) {
      std::stable_sort(order.begin(), order.end(),
                       [&](std::uint32_t a, std::uint32_t b) { return free[a] < free[b]; });
    }
    for (std::uint32_t domain : order) {
      domain_ = domain;
      if (pack(out) || (scatter && spread(out))) return true;
    }
    domain_ = kNoNode;
    return false;
  }

  // Fractions of devices: the fullest device with room first, so that whole ones stay whole.
  bool share_devices(Allocation& out) const {
    std::uint32_t left = configuration_.devices;
    std::vector<std::pair<std::uint32_t, DeviceId>> candidates;  // (room, device)
    for (NodeId id = 0; id < cluster_.nodes.size(); ++id) {
      const Node& node = cluster_.nodes[id];
      if (node.type != type_ || !ledger_.available(id)) continue;
      if (!node_suits(state_, id, 1, job_, configuration_)) continue;
      for (DeviceId d = node.first_device; d < node.first_device + node.devices; ++d) {
        const std::uint32_t room = ledger_.room_milli(d);
        const Bytes memory = cluster_.types[type_].memory;
        const bool memory_fits =
            memory == 0 || ledger_.used_memory(d) + configuration_.device_memory <= memory;
        const bool taken = std::any_of(taken_.devices.begin(), taken_.devices.end(),
                                       [&](const DeviceShare& s) { return s.device == d; });
        if (configuration_.milli <= room && memory_fits && !taken) {
          candidates.emplace_back(room, d);
        }
      }
    }
    if (candidates.size() < left) return false;
    if (order_ == NodeOrder::kBest) std::stable_sort(candidates.begin(), candidates.end());
    const size_t start = out.devices.size();
    for (const auto& [room, device] : candidates) {
      if (left == 0) break;
      // `out` holds the replicas placed before this one, too.
      const NodeId node = cluster_.node_of(device);
      if (!node_suits(state_, node, devices_on(node, out) + 1, job_, configuration_)) continue;
      out.devices.push_back({device, static_cast<std::uint16_t>(configuration_.milli), 0,
                             configuration_.device_memory});
      --left;
    }
    if (left == 0) return true;
    out.devices.resize(start);
    return false;
  }

  const State& state_;
  const Ledger& ledger_;
  const Cluster& cluster_;
  const JobState& job_;
  const Configuration& configuration_;
  const NodeIndex& index_;
  TypeId type_;
  NodeOrder order_;
  const Allocation& taken_;  // replicas placed before this one
  bool filtered_;
  std::uint32_t domain_ = kNoNode;
};

// The same demand as configuration 0, perhaps on another device type.
bool is_as_asked(const Configuration& c, const Configuration& asked) {
  return c.devices == asked.devices && c.milli == asked.milli && c.batch == asked.batch;
}

}  // namespace

bool runs_as_asked(const Submission& spec, std::uint16_t configuration) {
  return is_as_asked(spec.menu->configurations[configuration], spec.requested());
}

std::uint64_t types_as_asked(const Submission& spec) {
  std::uint64_t mask = 0;
  for (const Configuration& c : spec.menu->configurations) {
    if (!is_as_asked(c, spec.requested())) continue;
    if (c.type == kAnyType) return ~std::uint64_t{0};
    mask |= std::uint64_t{1} << (c.type & 63);
  }
  return mask;
}

std::vector<std::uint16_t> entries_as_asked(const Submission& spec) {
  const std::vector<Configuration>& menu = spec.menu->configurations;
  if (menu.size() == 1 || spec.kind == WorkloadKind::kService) return {0};
  std::vector<std::uint16_t> order;
  for (std::uint16_t i = 0; i < menu.size(); ++i) {
    // Of several on one type, which differ in what is held beside the devices, the first is meant.
    const bool first = std::none_of(order.begin(), order.end(), [&](std::uint16_t other) {
      return menu[other].type == menu[i].type;
    });
    if (is_as_asked(menu[i], menu[0]) && menu[i].rate > 0 && first) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint16_t a, std::uint16_t b) { return menu[a].rate > menu[b].rate; });
  return order;
}
bool place_as_asked(const Place& place, const State& state, const JobState& job,
                    std::uint32_t replicas, Allocation& out) {
  if (job.spec->menu->configurations.size() == 1) return place.place(state, job, 0, replicas, out);
  const std::vector<std::uint16_t> order = entries_as_asked(*job.spec);
  return std::any_of(order.begin(), order.end(),
                     [&](std::uint16_t i) { return place.place(state, job, i, replicas, out); });
}

bool node_suits(const State& state, NodeId id, std::uint32_t devices, const JobState& job,
                const Configuration& c) {
  const Ledger& ledger = state.ledger;
  const Node& node = ledger.cluster().nodes[id];
  if (node.node_class == NodeClass::kSpot && !job.spec->spot_ok) return false;
  if (!state.closures.empty() && !state.may_begin_on(id, job)) return false;
  if (node.cpu_milli != 0 && ledger.used_cpu_milli(id) + c.cpu_milli * devices > node.cpu_milli) {
    return false;
  }
  return node.memory == 0 || ledger.used_host_memory(id) + c.host_memory * devices <= node.memory;
}

void append_devices(const Ledger& ledger, NodeId node, std::uint32_t count, const Configuration& c,
                    Allocation& out) {
  const DeviceId first = ledger.cluster().nodes[node].first_device;
  std::uint64_t mask = ledger.free_mask(node);
  for (const DeviceShare& share : out.devices) {
    if (ledger.cluster().node_of(share.device) == node) {
      mask &= ~(std::uint64_t{1} << (share.device - first));
    }
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    CHECK(mask != 0);
    out.devices.push_back({first + static_cast<DeviceId>(std::countr_zero(mask)),
                           static_cast<std::uint16_t>(c.milli), 0, c.device_memory});
    mask &= mask - 1;
  }
}

void fill_hosts(const Cluster& cluster, const Configuration& c, Allocation& out) {
  out.hosts.clear();
  if (!has_host_demand(c)) return;
  for (const DeviceShare& share : out.devices) {
    const NodeId node = cluster.node_of(share.device);
    if (out.hosts.empty() || out.hosts.back().node != node) out.hosts.push_back({.node = node});
    HostShare& host = out.hosts.back();
    host.cpu_milli += c.cpu_milli;
    host.memory += c.host_memory;
    host.storage_bytes_per_s += c.storage_bytes_per_s;
    host.network_guarantee += c.network_guarantee;
    host.network_limit += c.network_limit;
  }
}

bool PackedPlace::place_on(TypeId type, const State& state, const JobState& job,
                           std::uint16_t configuration, bool scatter, Allocation& out) const {
  const Configuration& wanted = job.spec->menu->configurations[configuration];
  if (wanted.type != kAnyType && wanted.type != type) return false;
  out.clear();
  out.configuration = configuration;
  const Allocation none;
  if (!GangSearch(state, job, wanted, type, order_, none).run(scatter, out)) return false;
  std::sort(out.devices.begin(), out.devices.end(),
            [](const DeviceShare& a, const DeviceShare& b) { return a.device < b.device; });
  fill_hosts(state.cluster(), wanted, out);
  return true;
}

bool PackedPlace::place_where(const State& state, const JobState& job, const Configuration& wanted,
                              std::uint32_t replicas, Allocation& out) const {
  out.devices.clear();
  for (std::uint32_t replica = 0; replica < replicas; ++replica) {
    bool placed = false;
    for (TypeId type = 0; type < state.cluster().types.size() && !placed; ++type) {
      if (wanted.type != kAnyType && wanted.type != type) continue;
      const std::uint64_t needed = wanted.milli == kWhole ? wanted.devices : 0;
      if (state.ledger.free_whole_of(type) < needed) continue;
      const Allocation taken = replica == 0 ? Allocation{} : out;
      placed = GangSearch(state, job, wanted, type, order_, taken).run(scatter_, out);
    }
    if (!placed) return false;
  }
  return true;
}

bool PackedPlace::place(const State& state, const JobState& job, std::uint16_t configuration,
                        std::uint32_t replicas, Allocation& out) const {
  const Configuration& wanted = job.spec->menu->configurations[configuration];
  replicas = std::max(replicas, 1u);
  out.configuration = configuration;
  out.replicas = replicas;
  bool placed = false;
  if (within_ < Level::kCluster && wanted.devices > 1 && wanted.milli == kWhole &&
      !(wanted.pack_required && wanted.pack < within_)) {
    Configuration kept = wanted;
    kept.pack = within_;
    kept.pack_required = true;
    placed = place_where(state, job, kept, replicas, out);
  }
  if (!placed && !place_where(state, job, wanted, replicas, out)) return false;
  if (out.devices.size() > 1) {
    std::sort(out.devices.begin(), out.devices.end(),
              [](const DeviceShare& a, const DeviceShare& b) { return a.device < b.device; });
  }
  fill_hosts(state.cluster(), wanted, out);
  return true;
}

}  // namespace weft
