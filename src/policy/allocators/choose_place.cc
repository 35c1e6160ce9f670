#include "policy/allocators/choose_place.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "model/same_ranks.h"
#include "policy/place.h"

namespace weft {
namespace {

class Displacing {
 public:
  Displacing(Draft& draft, std::span<const Seat> seats)
      : draft_(draft),
        state_(draft.state()),
        seats_(seats),
        staying_(state_.cluster().nodes.size()),
        nodes_of_(state_.cluster().types.size()) {
    for (NodeId node = 0; node < state_.cluster().nodes.size(); ++node) {
      nodes_of_[state_.cluster().nodes[node].type].push_back(node);
    }
  }

  void run() {
    for (size_t i = 0; i < seats_.size(); ++i) settle_former(i);
    std::stable_sort(growing_.begin(), growing_.end(),
                     [&](size_t a, size_t b) { return size(a) > size(b); });
    for (size_t i : growing_) {
      if (!grow(i)) displace(i);
    }
    while (!waiting_.empty()) {
      const size_t i = waiting_.begin()->second;
      waiting_.erase(waiting_.begin());
      place(i);
    }
  }

 private:
  std::int32_t size(size_t i) const { return seats_[i].offer->devices; }
  const JobState& job(size_t i) const { return state_.job(seats_[i].job); }
  const Configuration& wanted(size_t i) const {
    return job(i).spec->menu->configurations[seats_[i].offer->configuration];
  }

  void settle_former(size_t i) {
    const Seat& seat = seats_[i];
    const bool placed = job(i).phase == Phase::kPlaced;
    const bool adapts = seat.offer != nullptr && !seat.keeps && can_adapt(i);
    if (placed && !seat.keeps && !adapts) draft_.stop(seat.job);
    if (seat.offer == nullptr) return;
    if ((seat.keeps || adapts) && !placed && all_free(seat.former)) {
      draft_.start(seat.job, seat.former);
    }
    if (job(i).phase != Phase::kPlaced) {
      waiting_.insert({-size(i), i});
      return;
    }
    if (adapts && seat.former.devices.size() > wanted(i).devices) shrink(i);
    if (adapts && seat.former.devices.size() < wanted(i).devices) growing_.push_back(i);
    for (NodeId node : nodes_of(job(i).held)) staying_[node].push_back(i);
  }

  // Whether its ranks could go on under the new offer where they are.
  bool can_adapt(size_t i) const {
    const Seat& seat = seats_[i];
    const std::vector<Configuration>& menu = job(i).spec->menu->configurations;
    if (!job(i).spec->in_place || seat.former.empty() || wanted(i).milli < kWhole ||
        state_.cluster().type_of(seat.former.devices.front().device) != seat.offer->type ||
        !same_members(menu[seat.former.configuration], wanted(i))) {
      return false;
    }
    const std::vector<DeviceShare> kept = in_service(seat.former);
    return kept.size() == seat.former.devices.size() ||
           (kept.size() >= wanted(i).devices &&
            kept.front().device == seat.former.devices.front().device);
  }

  std::vector<DeviceShare> in_service(const Allocation& allocation) const {
    std::vector<DeviceShare> kept = allocation.devices;
    std::erase_if(kept, [&](const DeviceShare& share) {
      return !state_.ledger.device_in_service(state_.cluster().node_of(share.device), share.device);
    });
    return kept;
  }

  // Those of the first nodes stay: there they meet.
  void shrink(size_t i) {
    Allocation out = job(i).held;
    out.configuration = seats_[i].offer->configuration;
    out.devices = in_service(out);
    out.devices.resize(wanted(i).devices);
    fill_hosts(state_.cluster(), wanted(i), out);
    draft_.move(seats_[i].job, std::move(out));
  }

  // Adds to the devices that it has what is free beside them, then on nodes behind its first; false
  // if a new start would be on fewer nodes.
  bool grow(size_t i) {
    const Configuration& c = wanted(i);
    Allocation out = job(i).held;
    out.configuration = seats_[i].offer->configuration;
    std::vector<NodeId> used = nodes_of(out);
    const size_t had = used.size();
    const auto missing = [&] { return c.devices - static_cast<std::uint32_t>(out.devices.size()); };
    for (size_t n = 0; missing() > 0; ++n) {
      if (n == used.size()) used.push_back(behind(i, used, missing()));
      if (used[n] == kNoNode) return false;
      const std::uint32_t more = std::min(missing(), state_.ledger.free_whole(used[n]));
      if (more == 0) continue;
      if (!node_suits(state_, used[n], more, job(i), c)) return false;
      append_devices(state_.ledger, used[n], more, c, out);
    }
    const std::uint32_t on_node = most_on_node(seats_[i].offer->type);
    const auto level = static_cast<size_t>(c.pack);
    const std::vector<Node>& nodes = state_.cluster().nodes;
    if (used.size() > std::max<size_t>(had, (c.devices + on_node - 1) / on_node)) return false;
    if (c.pack_required && std::any_of(used.begin(), used.end(), [&](NodeId node) {
          return nodes[node].domain[level] != nodes[used.front()].domain[level];
        })) {
      return false;
    }
    std::sort(out.devices.begin(), out.devices.end(),
              [](const DeviceShare& a, const DeviceShare& b) { return a.device < b.device; });
    fill_hosts(state_.cluster(), c, out);
    draft_.move(seats_[i].job, std::move(out));
    for (size_t n = had; n < used.size(); ++n) staying_[used[n]].push_back(i);
    return true;
  }

  // The node with least to spare where `need` devices are free, or all of its own.
  NodeId behind(size_t i, const std::vector<NodeId>& used, std::uint32_t need) const {
    NodeId best = kNoNode;
    for (NodeId node : nodes_of_[seats_[i].offer->type]) {
      const std::uint32_t free = state_.ledger.free_whole(node);
      const std::uint32_t part =
          std::min<std::uint32_t>(need, state_.cluster().nodes[node].devices);
      if (node < used.front() || free < part ||
          (best != kNoNode && free >= state_.ledger.free_whole(best)) ||
          std::find(used.begin(), used.end(), node) != used.end() ||
          !node_suits(state_, node, part, job(i), wanted(i))) {
        continue;
      }
      best = node;
    }
    return best;
  }

  bool all_free(const Allocation& allocation) const {
    return std::all_of(allocation.devices.begin(), allocation.devices.end(),
                       [&](const DeviceShare& share) {
                         const NodeId node = state_.cluster().node_of(share.device);
                         const DeviceId first = state_.cluster().nodes[node].first_device;
                         return (state_.ledger.free_mask(node) >> (share.device - first)) & 1;
                       });
  }

  std::vector<NodeId> nodes_of(const Allocation& allocation) const {
    std::vector<NodeId> nodes;
    for (const DeviceShare& share : allocation.devices) {
      const NodeId node = state_.cluster().node_of(share.device);
      if (nodes.empty() || nodes.back() != node) nodes.push_back(node);
    }
    return nodes;
  }

  // Devices that the gang would free if it left.
  std::uint32_t devices_on(size_t i, NodeId node) const {
    return static_cast<std::uint32_t>(std::count_if(
        job(i).held.devices.begin(), job(i).held.devices.end(), [&](const DeviceShare& share) {
          return state_.cluster().node_of(share.device) == node &&
                 state_.ledger.device_in_service(node, share.device);
        }));
  }

  // The node where `need` devices displace least; kNoNode: smaller gangs hold too few.
  NodeId find(size_t i, std::uint32_t need, const std::vector<NodeId>& used) const {
    const Seat& seat = seats_[i];
    const Configuration& c = wanted(i);
    NodeId best = kNoNode;
    std::pair<std::uint32_t, std::uint32_t> least;
    for (NodeId node : nodes_of_[seat.offer->type]) {
      const std::uint32_t free = state_.ledger.free_whole(node);
      const std::uint32_t missing = need > free ? need - free : 0;
      if (best != kNoNode && std::pair(missing, free) >= least) continue;
      if (missing > smaller_on(node, size(i)) ||
          std::find(used.begin(), used.end(), node) != used.end() ||
          !node_suits(state_, node, need, job(i), c)) {
        continue;
      }
      best = node;
      least = {missing, free};
    }
    return best;
  }

  std::uint32_t smaller_on(NodeId node, std::int32_t than) const {
    std::uint32_t devices = 0;
    for (size_t i : staying_[node]) {
      if (size(i) < than) devices += devices_on(i, node);
    }
    return devices;
  }

  // Smallest gangs go first.
  void displace(NodeId node, std::uint32_t need) {
    std::vector<size_t> order = staying_[node];
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return size(a) < size(b); });
    for (size_t i : order) {
      if (state_.ledger.free_whole(node) >= need) return;
      displace(i);
    }
  }

  void displace(size_t i) {
    for (NodeId node : nodes_of(job(i).held)) std::erase(staying_[node], i);
    draft_.stop(seats_[i].job);
    waiting_.insert({-size(i), i});
  }

  std::uint32_t most_on_node(TypeId type) const {
    std::uint32_t most = 0;
    for (NodeId node : nodes_of_[type]) {
      most = std::max<std::uint32_t>(most, state_.cluster().nodes[node].devices);
    }
    return most;
  }

  bool pack(size_t i, Allocation& out) {
    const Configuration& c = wanted(i);
    if (c.milli < kWhole ||
        (c.pack_required && c.pack > Level::kNode && c.pack < Level::kCluster)) {
      return false;
    }
    const std::uint32_t on_node = most_on_node(seats_[i].offer->type);
    if (c.pack_required && c.pack == Level::kNode && c.devices > on_node) return false;
    std::vector<NodeId> used;
    for (std::uint32_t left = c.devices; left > 0;) {
      const std::uint32_t need = std::min(left, on_node);
      const NodeId node = find(i, need, used);
      if (node == kNoNode) return false;
      displace(node, need);
      append_devices(state_.ledger, node, need, c, out);
      used.push_back(node);
      left -= need;
    }
    std::sort(out.devices.begin(), out.devices.end(),
              [](const DeviceShare& a, const DeviceShare& b) { return a.device < b.device; });
    fill_hosts(state_.cluster(), c, out);
    return true;
  }

  void place(size_t i) {
    const Seat& seat = seats_[i];
    Allocation out;
    out.configuration = seat.offer->configuration;
    if (!pack(i, out) && !PackedPlace(NodeOrder::kBest, true)
                              .place(state_, job(i), seat.offer->configuration, 1, out)) {
      return;
    }
    draft_.start(seat.job, std::move(out));
    for (NodeId node : nodes_of(job(i).held)) staying_[node].push_back(i);
  }

  Draft& draft_;
  const State& state_;
  std::span<const Seat> seats_;
  std::vector<std::vector<size_t>> staying_;           // by node: seats with devices there
  std::vector<std::vector<NodeId>> nodes_of_;          // by type
  std::vector<size_t> growing_;                        // seats that hold less than they are to
  std::set<std::pair<std::int32_t, size_t>> waiting_;  // by falling size
};

}  // namespace

void place_displacing_least(Draft& draft, std::span<const Seat> seats) {
  Displacing(draft, seats).run();
}

}  // namespace weft
