// Jobs that are held and let go, replicas that are lost, nodes that are closed for a while.
#include <algorithm>

#include "control/controller.h"
#include "model/same_ranks.h"
#include "policy/place.h"

namespace weft {

void Controller::admit(JobState& job) {
  job.phase = Phase::kWaiting;
  if (state_.active.empty() || state_.active.back() < job.id) {
    state_.active.push_back(job.id);
  } else {  // it was held while others came
    state_.active.insert(std::lower_bound(state_.active.begin(), state_.active.end(), job.id),
                         job.id);
  }
  ++state_.waiting;
  // One that was held since the last decision is still known to the policy.
  if (std::erase(change_.ended, job.id) == 0) change_.arrived.push_back(job.id);
}

void Controller::hold(const Event& event) {
  JobState& job = state_.jobs[event.job];
  const bool stops = job.phase == Phase::kPlaced && event.value > 0;
  if (stops) send_back(job);
  if (job.phase != Phase::kWaiting) return;
  job.phase = Phase::kHeld;
  --state_.waiting;
  std::erase(state_.active, job.id);
  // To the policy it is as if it had ended; one that it has not heard of never came.
  if (std::erase(change_.arrived, job.id) > 0) {
    std::erase(change_.returned, job.id);
  } else {
    change_.ended.push_back(job.id);
  }
  if (stops) dispatch_.pursue(job.id);
}

void Controller::hold_back(const Event& event) {
  const bool over = dispatch_.pursuit(event.job).standing == Standing::kIdle;
  if (stale(event) || over || state_.jobs[event.job].phase == Phase::kEnded) return;
  held_back_[event.job] = event.value;
  if (event.node == kNoNode) return;
  std::vector<NodeId>& nodes = state_.failures.shunned[event.job];
  if (std::find(nodes.begin(), nodes.end(), event.node) == nodes.end()) {
    nodes.push_back(event.node);
  }
}

// What is left of a job resized in place needs the node where its ranks meet, and a place in the
// menu.
bool Controller::can_go_on(const JobState& job, Allocation& left) const {
  const Cluster& cluster = state_.cluster();
  const std::vector<Configuration>& menu = job.spec->menu->configurations;
  const auto node = [&](const DeviceShare& share) { return cluster.node_of(share.device); };
  if (!job.spec->in_place || left.devices.empty() ||
      node(left.devices.front()) != node(job.held.devices.front())) {
    return false;
  }
  for (std::uint16_t i = 0; i < menu.size(); ++i) {
    const Configuration& c = menu[i];
    if (c.devices != left.devices.size() || !same_members(c, menu[job.held.configuration])) {
      continue;
    }
    const auto level = static_cast<std::size_t>(c.pack);
    const auto domain = [&](const DeviceShare& share) {
      return cluster.nodes[node(share)].domain[level];
    };
    const bool together = std::all_of(
        left.devices.begin(), left.devices.end(),
        [&](const DeviceShare& share) { return domain(share) == domain(left.devices.front()); });
    if (c.pack_required && !together) continue;
    left.configuration = i;
    return true;
  }
  return false;
}

void Controller::lost(const Event& event) {
  JobState& job = state_.jobs[event.job];
  const Pursuit& pursuit = dispatch_.pursuit(event.job);
  if (stale(event) || pursuit.standing == Standing::kIdle) return;
  const auto is_on_it = [&](const DeviceShare& share) {
    return state_.cluster().node_of(share.device) == event.node;
  };
  // It was leaving that node anyway, and does so the sooner.
  if (pursuit.standing == Standing::kResizing && job.phase == Phase::kPlaced &&
      std::none_of(job.held.devices.begin(), job.held.devices.end(), is_on_it)) {
    return;
  }
  Allocation left;
  const bool serves = job.spec->kind == WorkloadKind::kService;
  const std::uint32_t each = event.number > 0 ? event.number : job.spec->requested().devices;
  const std::vector<DeviceShare>& had = job.held.devices;
  for (size_t first = 0; first + each <= had.size(); first += each) {
    const auto begin = had.begin() + static_cast<std::ptrdiff_t>(first), end = begin + each;
    if (std::any_of(begin, end, is_on_it)) continue;
    left.devices.insert(left.devices.end(), begin, end);
  }
  left.configuration = job.held.configuration;
  const bool plain = job.phase == Phase::kPlaced && pursuit.standing == Standing::kRunning &&
                     pursuit.used == job.held && (serves || can_go_on(job, left));
  if (!plain) {
    // It is being changed, or too little is left: all of it ends as soon as what is pending is
    // answered, and begins anew.
    if (job.phase == Phase::kPlaced) send_back(job);
    return dispatch_.pursue(event.job);
  }
  if (left.devices.empty()) return crashed(event);
  if (left.devices.size() == had.size()) return;
  left.watts_cap = job.held.watts_cap;
  if (serves) left.replicas = static_cast<std::uint32_t>(left.devices.size() / each);
  fill_hosts(state_.cluster(), job.spec->menu->configurations[left.configuration], left);
  close_interval(job);
  state_.ledger.give(job.id, job.held);
  job.held = left;
  state_.ledger.take(job.id, job.held);
  dispatch_.shrink(job.id, std::move(left));
  open_interval(job);
  if (serves) {
    change_.loads.push_back(job.id);
  } else {
    change_.nodes = true;
  }
}

void Controller::close_node(const Event& event) {
  std::erase_if(state_.closures, [&](const Closure& closure) {
    return closure.number == event.number || closure.until <= state_.now;
  });
  if (event.value < event.value2 && event.value2 > state_.now) {
    const bool for_tenant = event.epoch > 0;
    state_.closures.push_back({event.number, event.node, event.value, event.value2, for_tenant,
                               static_cast<TenantId>(for_tenant ? event.epoch - 1 : 0)});
  }
  change_.nodes = true;
}

Seconds Controller::next_closing() const {
  Seconds next = kNever;
  for (const Closure& closure : state_.closures) {
    for (const Seconds at : {closure.from, closure.until}) {
      if (at > state_.now) next = std::min(next, at);
    }
  }
  return next;
}

}  // namespace weft
