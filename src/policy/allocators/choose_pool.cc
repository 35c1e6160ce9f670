#include <algorithm>
#include <bit>

#include "policy/allocators/choose_place.h"
#include "policy/place.h"

namespace weft {
namespace {

// A run of a node's devices, as many as the smallest node has.
struct Piece {
  NodeId node = 0;
  DeviceId first = 0;
  std::uint32_t devices = 0;
};

class Pool {
 public:
  explicit Pool(Draft& draft) : draft_(draft), state_(draft.state()) {
    const Cluster& cluster = state_.cluster();
    unit_ = smallest_node(cluster);
    for (NodeId id = 0; id < cluster.nodes.size(); ++id) {
      const Node& node = cluster.nodes[id];
      for (std::uint32_t from = 0; from < node.devices; from += unit_) {
        pieces_.push_back({id, node.first_device + from, std::min(unit_, node.devices - from)});
      }
    }
  }

  void place(const Seat& seat) {
    const JobState& job = state_.job(seat.job);
    const Configuration& c = job.spec->menu->configurations[seat.offer->configuration];
    Allocation out;
    const bool plain = c.milli == kWhole && (!c.pack_required || c.pack == Level::kCluster);
    if (!(plain && collect(static_cast<std::uint32_t>(seat.offer->devices), out) &&
          keep_one_type(job, seat, out)) &&
        !anyhow(job, seat, out)) {
      return;
    }
    draft_.start(seat.job, std::move(out));
  }

 private:
  std::uint64_t free_mask(const Piece& piece) const {
    const std::uint32_t shift = piece.first - state_.cluster().nodes[piece.node].first_device;
    const std::uint64_t ones =
        piece.devices >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << piece.devices) - 1;
    return (state_.ledger.free_mask(piece.node) >> shift) & ones;
  }

  static void take(const Piece& piece, std::uint64_t mask, std::uint32_t count, Allocation& out) {
    for (; count > 0; --count, mask &= mask - 1) {
      out.devices.push_back({piece.first + static_cast<DeviceId>(std::countr_zero(mask))});
    }
  }

  bool collect(std::uint32_t need, Allocation& out) const {
    std::vector<std::uint32_t> free(pieces_.size());
    for (size_t p = 0; p < pieces_.size(); ++p) {
      free[p] = static_cast<std::uint32_t>(std::popcount(free_mask(pieces_[p])));
    }
    const auto grab = [&](size_t p, std::uint32_t count) {
      take(pieces_[p], free_mask(pieces_[p]), count, out);
      free[p] = 0;
      need -= count;
    };
    if (need < unit_) {
      size_t best = pieces_.size();
      for (size_t p = 0; p < pieces_.size(); ++p) {
        if (free[p] >= need && (best == pieces_.size() || free[p] < free[best])) best = p;
      }
      if (best < pieces_.size()) grab(best, need);
    }
    for (size_t p = 0; p < pieces_.size() && need >= unit_; ++p) {
      if (free[p] == unit_) grab(p, unit_);
    }
    while (need > 0) {
      const auto most = std::max_element(free.begin(), free.end());
      if (most == free.end() || *most == 0) return false;
      grab(static_cast<size_t>(most - free.begin()), std::min(need, *most));
    }
    return true;
  }

  // Drops devices of types in the minority, and then what the menu has no configuration for.
  bool keep_one_type(const JobState& job, const Seat& seat, Allocation& out) const {
    const Cluster& cluster = state_.cluster();
    std::vector<std::uint32_t> of_type(cluster.types.size());
    for (const DeviceShare& share : out.devices) ++of_type[cluster.type_of(share.device)];
    const auto major = std::max_element(of_type.begin(), of_type.end());
    const auto type = static_cast<TypeId>(major - of_type.begin());
    std::erase_if(out.devices,
                  [&](const DeviceShare& share) { return cluster.type_of(share.device) != type; });
    const auto& menu = job.spec->menu->configurations;
    const Configuration* found = nullptr;
    for (std::uint16_t i = 0; i < menu.size(); ++i) {
      if (i != seat.offer->configuration && !job.spec->elastic) continue;
      if (menu[i].batch != menu[seat.offer->configuration].batch) continue;
      if ((menu[i].type != kAnyType && menu[i].type != type) || menu[i].devices > *major) continue;
      if (found != nullptr && menu[i].devices <= found->devices) continue;
      found = &menu[i];
      out.configuration = i;
    }
    if (found == nullptr || found->milli < kWhole) return false;
    std::sort(out.devices.begin(), out.devices.end(),
              [](const DeviceShare& a, const DeviceShare& b) { return a.device < b.device; });
    out.devices.resize(found->devices);
    for (DeviceShare& share : out.devices) share.memory = found->device_memory;
    fill_hosts(cluster, *found, out);
    return suits(job, *found, out);
  }

  bool suits(const JobState& job, const Configuration& c, const Allocation& out) const {
    const Cluster& cluster = state_.cluster();
    for (size_t i = 0; i < out.devices.size();) {
      const NodeId node = cluster.node_of(out.devices[i].device);
      std::uint32_t count = 0;
      for (; i < out.devices.size() && cluster.node_of(out.devices[i].device) == node; ++i) ++count;
      if (!node_suits(state_, node, count, job, c)) return false;
    }
    return true;
  }

  // What the pool could not give as asked: any configuration of this size, wherever it fits.
  bool anyhow(const JobState& job, const Seat& seat, Allocation& out) const {
    const auto& menu = job.spec->menu->configurations;
    const Configuration& wanted = menu[seat.offer->configuration];
    for (std::uint16_t i = 0; i < menu.size(); ++i) {
      if (i != seat.offer->configuration && !job.spec->elastic) continue;
      if (menu[i].devices != wanted.devices || menu[i].batch != wanted.batch) continue;
      if (PackedPlace(NodeOrder::kBest, true).place(state_, job, i, 1, out)) return true;
    }
    return false;
  }

  Draft& draft_;
  const State& state_;
  std::uint32_t unit_ = 1;
  std::vector<Piece> pieces_;
};

bool holds(const State& state, const Seat& seat) {
  return state.job(seat.job).phase == Phase::kPlaced;
}

}  // namespace

std::uint32_t smallest_node(const Cluster& cluster) {
  std::uint32_t least = Cluster::kMaxDevicesPerNode;
  for (const Node& node : cluster.nodes) least = std::min<std::uint32_t>(least, node.devices);
  return least;
}

void place_in_pool(Draft& draft, std::span<const Seat> seats) {
  std::vector<const Seat*> waiting;
  for (const Seat& seat : seats) {
    if (holds(draft.state(), seat) && !seat.keeps) draft.stop(seat.job);
    if (seat.offer != nullptr && !holds(draft.state(), seat)) waiting.push_back(&seat);
  }
  std::stable_sort(waiting.begin(), waiting.end(), [](const Seat* a, const Seat* b) {
    return a->offer->devices > b->offer->devices;
  });
  Pool pool(draft);
  for (const Seat* seat : waiting) pool.place(*seat);
}

}  // namespace weft
