#include "policy/ledger.h"

#include <algorithm>
#include <bit>

#include "base/check.h"

namespace weft {

Ledger::Ledger(const Cluster& cluster)
    : cluster_(&cluster),
      nodes_(cluster.nodes.size()),
      used_milli_(cluster.device_count()),
      owner_(cluster.device_count(), kNoJob),
      free_of_type_(cluster.types.size()),
      in_service_(cluster.types.size()) {
  std::vector<std::uint32_t> most(cluster.types.size());
  for (const Node& node : cluster.nodes) {
    most[node.type] = std::max<std::uint32_t>(most[node.type], node.devices);
  }
  for (std::uint32_t devices : most) {
    indices_.emplace_back(static_cast<std::uint32_t>(nodes_.size()), devices);
  }
  for (NodeId id = 0; id < nodes_.size(); ++id) {
    const Node& node = cluster.nodes[id];
    nodes_[id].free = node.devices;
    nodes_[id].free_mask = ~std::uint64_t{0} >> (64 - node.devices);
    indices_[node.type].file(id, node.devices);
    free_of_type_[node.type] += node.devices;
    in_service_[node.type] += node.devices;
    free_total_ += node.devices;
  }
}

void Ledger::refile(NodeId node, std::uint32_t free_before, std::uint32_t free_after) {
  const TypeId type = cluster_->nodes[node].type;
  indices_[type].unfile(node, free_before);
  indices_[type].file(node, free_after);
  free_of_type_[type] += free_after - free_before;
  free_total_ += free_after - free_before;
}

void Ledger::set_free(NodeId node, DeviceId device, bool free) {
  NodeUse& use = nodes_[node];
  const std::uint64_t bit = bit_of(node, device);
  CHECK(((use.free_mask & bit) != 0) != free);
  use.free_mask ^= bit;
  if ((use.out_mask & bit) == 0) use.free = free ? use.free + 1 : use.free - 1;
}

bool Ledger::has_room(const Allocation& allocation) const {
  return std::all_of(
             allocation.devices.begin(), allocation.devices.end(),
             [&](const DeviceShare& share) { return share.milli <= room_milli(share.device); }) &&
         std::all_of(allocation.hosts.begin(), allocation.hosts.end(), [&](const HostShare& host) {
           const Node& node = cluster_->nodes[host.node];
           const NodeUse& use = nodes_[host.node];
           return (node.cpu_milli == 0 || use.cpu_milli + host.cpu_milli <= node.cpu_milli) &&
                  (node.memory == 0 || use.memory + host.memory <= node.memory);
         });
}

void Ledger::take(JobId job, const Allocation& allocation) {
  for (size_t i = 0; i < allocation.devices.size();) {
    const NodeId node = cluster_->node_of(allocation.devices[i].device);
    const std::uint32_t before = nodes_[node].free;
    for (; i < allocation.devices.size() && cluster_->node_of(allocation.devices[i].device) == node;
         ++i) {
      const DeviceShare& share = allocation.devices[i];
      CHECK_MSG(share.milli > 0 && used_milli_[share.device] + share.milli <= kWhole,
                "a device is given twice");
      if (used_milli_[share.device] == 0) set_free(node, share.device, false);
      used_milli_[share.device] =
          static_cast<std::uint16_t>(used_milli_[share.device] + share.milli);
      held_milli_ += share.milli;
      if (share.milli == kWhole && share.memory == 0) {
        owner_[share.device] = job;
      } else {
        Shared& shared = shared_[share.device];
        shared.users.push_back(job);
        shared.memory += share.memory;
      }
    }
    if (nodes_[node].available && nodes_[node].free != before) {
      refile(node, before, nodes_[node].free);
    }
  }
  for (const HostShare& host : allocation.hosts) {
    nodes_[host.node].cpu_milli += host.cpu_milli;
    nodes_[host.node].memory += host.memory;
  }
}

void Ledger::give(JobId job, const Allocation& allocation) {
  for (size_t i = 0; i < allocation.devices.size();) {
    const NodeId node = cluster_->node_of(allocation.devices[i].device);
    const std::uint32_t before = nodes_[node].free;
    for (; i < allocation.devices.size() && cluster_->node_of(allocation.devices[i].device) == node;
         ++i) {
      const DeviceShare& share = allocation.devices[i];
      CHECK_MSG(used_milli_[share.device] >= share.milli, "a device is given back twice");
      used_milli_[share.device] =
          static_cast<std::uint16_t>(used_milli_[share.device] - share.milli);
      held_milli_ -= share.milli;
      if (used_milli_[share.device] == 0) set_free(node, share.device, true);
      if (share.milli == kWhole && share.memory == 0) {
        CHECK(owner_[share.device] == job);
        owner_[share.device] = kNoJob;
      } else {
        const auto shared = shared_.find(share.device);
        CHECK(shared != shared_.end());
        std::vector<JobId>& users = shared->second.users;
        const auto user = std::find(users.begin(), users.end(), job);
        CHECK_MSG(user != users.end(), "a job gives back what it does not hold");
        users.erase(user);
        shared->second.memory -= share.memory;
        if (users.empty()) shared_.erase(shared);
      }
    }
    if (nodes_[node].available && nodes_[node].free != before) {
      refile(node, before, nodes_[node].free);
    }
  }
  for (const HostShare& host : allocation.hosts) {
    CHECK(nodes_[host.node].cpu_milli >= host.cpu_milli);
    nodes_[host.node].cpu_milli -= host.cpu_milli;
    nodes_[host.node].memory -= host.memory;
  }
}

void Ledger::set_available(NodeId id, bool available) {
  NodeUse& use = nodes_[id];
  if (use.available == available) return;
  use.available = available;
  const Node& node = cluster_->nodes[id];
  const auto devices = node.devices - static_cast<std::uint32_t>(std::popcount(use.out_mask));
  if (available) {
    indices_[node.type].file(id, use.free);
    free_of_type_[node.type] += use.free;
    free_total_ += use.free;
    in_service_[node.type] += devices;
  } else {
    indices_[node.type].unfile(id, use.free);
    free_of_type_[node.type] -= use.free;
    free_total_ -= use.free;
    in_service_[node.type] -= devices;
  }
}

void Ledger::set_device_available(DeviceId device, bool available) {
  const NodeId node = cluster_->node_of(device);
  NodeUse& use = nodes_[node];
  const std::uint64_t bit = bit_of(node, device);
  if (((use.out_mask & bit) == 0) == available) return;
  use.out_mask ^= bit;
  const std::uint32_t before = use.free;
  use.free = static_cast<std::uint32_t>(std::popcount(use.free_mask & ~use.out_mask));
  if (!use.available) return;
  if (use.free != before) refile(node, before, use.free);
  in_service_[cluster_->nodes[node].type] += available ? 1 : -1u;
}

void Ledger::copy_outages(const Ledger& other) {
  for (NodeId node = 0; node < nodes_.size(); ++node) {
    if (!other.available(node)) set_available(node, false);
    for (std::uint64_t out = other.nodes_[node].out_mask; out != 0; out &= out - 1) {
      set_device_available(
          cluster_->nodes[node].first_device + static_cast<DeviceId>(std::countr_zero(out)), false);
    }
  }
}

Bytes Ledger::shared_memory(DeviceId device) const {
  const auto shared = shared_.find(device);
  return shared == shared_.end() ? 0 : shared->second.memory;
}

std::vector<JobId> Ledger::users(DeviceId device) const {
  std::vector<JobId> users;
  if (owner_[device] != kNoJob) users.push_back(owner_[device]);
  const auto shared = shared_.find(device);
  if (shared != shared_.end()) {
    users.insert(users.end(), shared->second.users.begin(), shared->second.users.end());
  }
  return users;
}

}  // namespace weft
