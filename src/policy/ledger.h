// Who holds which part of which device, and what is left.
#pragma once

#include <map>
#include <vector>

#include "model/allocation.h"
#include "model/cluster.h"
#include "policy/node_index.h"

namespace weft {

// Requires: the cluster outlives the ledger.
class Ledger {
 public:
  explicit Ledger(const Cluster& cluster);

  // Requires: everything in `allocation` is free. Aborts otherwise: giving a device twice is the
  // one mistake no caller may make.
  void take(JobId job, const Allocation& allocation);
  // Requires: `job` holds exactly this.
  void give(JobId job, const Allocation& allocation);

  // True if take() would succeed on nodes in service.
  bool has_room(const Allocation& allocation) const;

  // A node or device that is out of service keeps its holders but offers nothing. A device is in
  // service if it and its node are.
  void set_available(NodeId node, bool available);
  void set_device_available(DeviceId device, bool available);
  // Of the node itself; devices of it may be out.
  bool available(NodeId node) const { return nodes_[node].available; }
  bool device_in_service(NodeId node, DeviceId device) const {
    return nodes_[node].available && (nodes_[node].out_mask & bit_of(node, device)) == 0;
  }
  bool device_in_service(DeviceId device) const {
    return device_in_service(cluster_->node_of(device), device);
  }
  // The device itself, whatever its node.
  bool device_is_out(DeviceId device) const {
    const NodeId node = cluster_->node_of(device);
    return (nodes_[node].out_mask & bit_of(node, device)) != 0;
  }
  // The node and every device of it.
  bool entirely_in_service(NodeId node) const {
    return nodes_[node].available && nodes_[node].out_mask == 0;
  }
  // Takes out of service what is so in `other`, a ledger of the same cluster.
  void copy_outages(const Ledger& other);

  const Cluster& cluster() const { return *cluster_; }
  const NodeIndex& index(TypeId type) const { return indices_[type]; }
  // Devices of the node in service that nobody holds any part of.
  std::uint32_t free_whole(NodeId node) const {
    return nodes_[node].available ? nodes_[node].free : 0;
  }
  // One bit for each such device, lowest bit for the node's first device.
  std::uint64_t free_mask(NodeId node) const {
    return nodes_[node].available ? nodes_[node].free_mask & ~nodes_[node].out_mask : 0;
  }
  // Entirely free devices of the type that are in service.
  std::uint32_t free_whole_of(TypeId type) const { return free_of_type_[type]; }
  std::uint32_t free_whole_total() const { return free_total_; }
  // Devices of the type in service, held or not.
  std::uint32_t in_service(TypeId type) const { return in_service_[type]; }

  std::uint32_t used_milli(DeviceId device) const { return used_milli_[device]; }
  // What nobody holds of the device; 0 while it is out of service.
  std::uint32_t room_milli(DeviceId device) const {
    return device_in_service(device) ? kWhole - used_milli_[device] : 0;
  }
  Bytes used_memory(DeviceId device) const { return shared_memory(device); }
  std::uint32_t used_cpu_milli(NodeId node) const { return nodes_[node].cpu_milli; }
  Bytes used_host_memory(NodeId node) const { return nodes_[node].memory; }
  // Devices held, shared ones by their share.
  double held() const { return static_cast<double>(held_milli_) / kWhole; }
  // The jobs on a device, in order of arrival there.
  std::vector<JobId> users(DeviceId device) const;

 private:
  struct NodeUse {
    std::uint64_t free_mask = 0;  // nobody holds any part
    std::uint64_t out_mask = 0;   // out of service
    std::uint32_t free = 0;       // devices that are free and not out
    std::uint32_t cpu_milli = 0;
    Bytes memory = 0;
    bool available = true;
  };
  struct Shared {
    std::vector<JobId> users;
    Bytes memory = 0;
  };

  std::uint64_t bit_of(NodeId node, DeviceId device) const {
    return std::uint64_t{1} << (device - cluster_->nodes[node].first_device);
  }
  Bytes shared_memory(DeviceId device) const;
  void set_free(NodeId node, DeviceId device, bool free);
  void refile(NodeId node, std::uint32_t free_before, std::uint32_t free_after);

  const Cluster* cluster_;
  std::vector<NodeUse> nodes_;
  std::vector<NodeIndex> indices_;         // by type
  std::vector<std::uint16_t> used_milli_;  // by device
  std::vector<JobId> owner_;               // by device; of wholly held ones
  std::map<DeviceId, Shared> shared_;      // partly held devices, and held memory
  std::vector<std::uint32_t> free_of_type_, in_service_;
  std::uint32_t free_total_ = 0;
  std::int64_t held_milli_ = 0;
};

}  // namespace weft
