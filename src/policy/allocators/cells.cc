#include "policy/allocators/cells.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>

#include "base/check.h"
#include "policy/allocators/time_share.h"
#include "policy/explain.h"
#include "policy/idle.h"
#include "policy/services.h"

namespace weft {
namespace {

struct Cell {
  NodeId node = kNoNode;
  std::uint32_t offset = 0, size = 0;
};

class CellWalk {
 public:
  CellWalk(const std::vector<std::uint32_t>& quotas, Draft& draft, CellMemory& memory)
      : draft_(draft), memory_(memory), state_(draft.state()), quotas_(quotas) {
    const auto nodes = static_cast<std::uint32_t>(state_.cluster().nodes.size());
    if (quotas_.empty()) quotas_.push_back(nodes);
    memory_.virtual_nodes.resize(quotas_.size());
    for (size_t t = 0; t < quotas_.size(); ++t) {
      memory_.virtual_nodes[t].resize(std::min(quotas_[t], nodes), kNoNode);
    }
    one_owner_ = quotas.empty();
    largest_.resize(state_.cluster().types.size());
    count_.resize(largest_.size());
    for (const Node& node : state_.cluster().nodes) {
      largest_[node.type] = std::max<std::uint32_t>(largest_[node.type], node.devices);
    }
    for (const Node& node : state_.cluster().nodes) {
      count_[node.type] += node.devices == largest_[node.type];
    }
  }

  void run() {
    gather();
    for (std::vector<JobId>& queue : queues_) serve_owner(queue);
    serve_guests();
  }

  void explain() const {
    const JobState* const job = to_explain(state_);
    if (job == nullptr) return;
    const bool owns = guaranteed(*job);
    const std::vector<JobId>& queue = owns ? queues_[owner_of(*job)] : guests_;
    std::uint32_t ahead = 0;
    for (JobId id : queue) {
      if (id == job->id) break;
      ahead += state_.job(id).phase == Phase::kWaiting;
    }
    explain_waiting(draft_, place_, ahead,
                    owns ? fmt::format("its tenant's {} virtual nodes have no free cell for the "
                                       "first of its jobs",
                                       memory_.virtual_nodes[owner_of(*job)].size())
                         : "as a guest it gets only what owners leave idle");
  }

 private:
  size_t owner_of(const JobState& job) const { return one_owner_ ? 0 : job.spec->tenant; }

  // In a cell of its tenant rather than on what idles. A job that its tenant's nodes could never
  // hold, were they all free, is a guest.
  bool guaranteed(const JobState& job) const {
    const size_t owner = owner_of(job);
    if (job.spec->kind == WorkloadKind::kService || job.spec->priority < 0 ||
        owner >= quotas_.size()) {
      return false;
    }
    const Configuration& c = job.spec->requested();
    const std::uint32_t size = node_size(c), needed = nodes_needed(job, size);
    std::uint32_t most = 0;
    for (TypeId type = 0; type < count_.size(); ++type) {
      if (largest_[type] == size && configuration_on(*job.spec, type) >= 0) {
        most = std::max(most, count_[type]);
      }
    }
    return needed <= std::min<size_t>(most, memory_.virtual_nodes[owner].size());
  }

  // Devices of the largest nodes that carry the configuration.
  std::uint32_t node_size(const Configuration& c) const {
    return c.type == kAnyType ? *std::max_element(largest_.begin(), largest_.end())
                              : largest_[c.type];
  }
  static std::uint32_t nodes_needed(const JobState& job, std::uint32_t size) {
    return (job.spec->requested().devices + size - 1) / size;
  }

  void gather() {
    taken_.assign(state_.cluster().nodes.size(), 0);
    stuck_.assign(taken_.size(), 0);
    queues_.resize(quotas_.size());
    for (JobId id : state_.active) {
      const JobState& job = state_.job(id);
      if (job.phase == Phase::kPlaced) mark(job);
      if (job.phase != Phase::kWaiting || job.spec->kind == WorkloadKind::kService) continue;
      if (job.held_back_until > state_.now) {
        draft_.wake_at(job.held_back_until);
      } else if (guaranteed(job)) {
        queues_[owner_of(job)].push_back(id);
      } else {
        guests_.push_back(id);
      }
    }
    const auto urgent = [&](JobId a, JobId b) {
      return state_.job(a).spec->priority > state_.job(b).spec->priority;
    };
    for (auto& queue : queues_) std::stable_sort(queue.begin(), queue.end(), urgent);
    std::stable_sort(guests_.begin(), guests_.end(), urgent);
    bound_.assign(taken_.size(), false);
    for (auto& nodes : memory_.virtual_nodes) {
      for (NodeId& node : nodes) {
        if (node != kNoNode && taken_[node] == 0) node = kNoNode;
        if (node != kNoNode) bound_[node] = true;
      }
    }
  }

  // The whole cell counts as taken, though its job may hold less of it.
  void mark(const JobState& job) {
    const Cluster& cluster = state_.cluster();
    const bool owns = guaranteed(job);
    if (!owns && job.spec->preemptible) return;
    const std::uint32_t size = node_size(job.spec->requested());
    const auto devices = static_cast<std::uint32_t>(job.held.devices.size());
    const std::uint32_t cell = std::bit_ceil(devices);
    for (const DeviceShare& share : job.held.devices) {
      const NodeId node = cluster.node_of(share.device);
      const std::uint32_t offset = share.device - cluster.nodes[node].first_device;
      if (!owns) {
        stuck_[node] |= block(offset, 1);
      } else {
        taken_[node] |= devices > size / 2 ? ~std::uint64_t{0} : block(offset / cell * cell, cell);
      }
    }
  }

  static std::uint64_t block(std::uint32_t offset, std::uint32_t size) {
    return (size >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << size) - 1) << offset;
  }

  // The owner's first job that does not fit blocks its others.
  void serve_owner(const std::vector<JobId>& queue) {
    for (JobId id : queue) {
      const JobState& job = state_.job(id);
      std::vector<NodeId>& nodes = memory_.virtual_nodes[owner_of(job)];
      const std::uint32_t size = node_size(job.spec->requested());
      const std::uint32_t devices = job.spec->requested().devices;
      std::vector<Cell> cells;
      const bool found = devices > size / 2 ? find_nodes(job, nodes, size, cells)
                                            : find_cell(job, nodes, size, cells);
      if (!found) return;
      occupy(job, cells);
    }
  }

  // The smallest free cell that holds the job and is not half of a larger free one, in the lowest
  // virtual node; else a new node is bound.
  bool find_cell(const JobState& job, std::vector<NodeId>& nodes, std::uint32_t size,
                 std::vector<Cell>& out) {
    const std::uint32_t wanted = std::bit_ceil(job.spec->requested().devices);
    for (std::uint32_t cell = wanted; cell < size; cell *= 2) {
      for (NodeId node : nodes) {
        if (node == kNoNode || !usable(job, node, size)) continue;
        for (std::uint32_t offset = 0; offset + cell <= size; offset += cell) {
          const std::uint64_t own = block(offset, cell);
          const std::uint64_t both = block(offset / (2 * cell) * (2 * cell), 2 * cell);
          if ((taken_[node] & own) != 0 || (taken_[node] & both) == 0) continue;
          if ((stuck_[node] & own) != 0) continue;
          out = {{node, offset, wanted}};
          return true;
        }
      }
    }
    if (!find_nodes(job, nodes, size, out)) return false;
    out.front().size = wanted;
    return true;
  }

  bool usable(const JobState& job, NodeId node, std::uint32_t size) const {
    const Node& n = state_.cluster().nodes[node];
    return state_.ledger.entirely_in_service(node) && n.devices == size &&
           configuration_on(*job.spec, n.type) >= 0 &&
           (n.node_class == NodeClass::kOnDemand || job.spec->spot_ok);
  }

  // Binds as many virtual nodes as the job needs, lowest first, to real ones of one type, each the
  // one that fewest guests use.
  bool find_nodes(const JobState& job, std::vector<NodeId>& nodes, std::uint32_t size,
                  std::vector<Cell>& out) {
    const std::uint32_t needed = nodes_needed(job, size);
    std::vector<NodeId*> unbound;
    for (NodeId& node : nodes) {
      if (node == kNoNode && unbound.size() < needed) unbound.push_back(&node);
    }
    if (unbound.size() < needed) return false;
    for (TypeId type = 0; type < largest_.size(); ++type) {
      std::vector<std::pair<std::uint32_t, NodeId>> candidates;  // (devices that guests use, node)
      for (NodeId id = 0; id < bound_.size(); ++id) {
        if (state_.cluster().nodes[id].type != type || bound_[id] || stuck_[id] != 0) continue;
        if (usable(job, id, size)) candidates.emplace_back(size - state_.ledger.free_whole(id), id);
      }
      if (candidates.size() < needed) continue;
      std::sort(candidates.begin(), candidates.end());
      for (std::uint32_t i = 0; i < needed; ++i) {
        *unbound[i] = candidates[i].second;
        bound_[candidates[i].second] = true;
        out.push_back({candidates[i].second, 0, size});
      }
      return true;
    }
    return false;
  }

  void occupy(const JobState& job, const std::vector<Cell>& cells) {
    const TypeId type = state_.cluster().nodes[cells.front().node].type;
    const int entry = configuration_on(*job.spec, type);
    CHECK(entry >= 0);
    const Configuration& c = job.spec->menu->configurations[static_cast<size_t>(entry)];
    Allocation allocation;
    allocation.configuration = static_cast<std::uint16_t>(entry);
    std::uint32_t left = c.devices;
    for (const Cell& cell : cells) {
      taken_[cell.node] |= block(cell.offset, cell.size);
      const DeviceId first = state_.cluster().nodes[cell.node].first_device + cell.offset;
      for (DeviceId d = first; d < first + cell.size && left > 0; ++d, --left) {
        const std::vector<JobId> guests = state_.ledger.users(d);
        for (JobId guest : guests) send_away(guest);
        allocation.devices.push_back({d, static_cast<std::uint16_t>(c.milli), 0, c.device_memory});
      }
    }
    std::sort(allocation.devices.begin(), allocation.devices.end(),
              [](const DeviceShare& a, const DeviceShare& b) { return a.device < b.device; });
    fill_hosts(state_.cluster(), c, allocation);
    draft_.start(job.id, std::move(allocation));
  }

  void send_away(JobId guest) {
    draft_.stop(guest);
    if (state_.job(guest).spec->kind != WorkloadKind::kService) guests_.push_back(guest);
  }

  void serve_guests() {
    serve_services(draft_, place_);
    Allocation allocation;
    for (JobId id : guests_) {
      if (state_.ledger.free_whole_total() == 0) return;
      const JobState& job = state_.job(id);
      if (job.phase == Phase::kWaiting && place_as_asked(place_, state_, job, 1, allocation)) {
        draft_.start(id, std::move(allocation));
      }
    }
  }

  Draft& draft_;
  CellMemory& memory_;
  const State& state_;
  std::vector<std::uint32_t> quotas_;
  bool one_owner_ = false;
  std::vector<std::uint32_t> largest_, count_;  // by type: devices of the largest nodes, how many
  std::vector<std::uint64_t> taken_;            // by node: devices in cells of guaranteed jobs
  std::vector<std::uint64_t> stuck_;  // by node: devices of guests that may not be preempted
  std::vector<bool> bound_;           // by node
  std::vector<std::vector<JobId>> queues_;
  std::vector<JobId> guests_;
  PackedPlace place_{NodeOrder::kBest, true};
};

}  // namespace

void CellPolicy::decide(Draft& draft, const Change& change, PolicyMemory& memory) const {
  if (draft.state().waiting == 0 && change.loads.empty()) return;
  CellWalk walk(quotas_, draft, static_cast<CellMemory&>(memory));
  walk.run();
  start_something_if_idle(draft);
  walk.explain();
}

}  // namespace weft
