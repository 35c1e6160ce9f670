#include "policy/draft.h"

#include "base/check.h"

namespace weft {
namespace {

// Whether what is held for one serves the other: they differ in how the ranks work together.
bool asks_the_same(const Configuration& a, const Configuration& b) {
  return a.type == b.type && a.devices == b.devices && a.milli == b.milli && a.batch == b.batch &&
         a.device_memory == b.device_memory && a.cpu_milli == b.cpu_milli &&
         a.host_memory == b.host_memory && a.storage_bytes_per_s == b.storage_bytes_per_s &&
         a.network_guarantee == b.network_guarantee && a.network_limit == b.network_limit &&
         a.watts_cap == b.watts_cap;
}

bool is_scattered(const Cluster& cluster, const Allocation& held) {
  std::size_t nodes = 1;
  for (std::size_t i = 1; i < held.devices.size(); ++i) {
    nodes += cluster.node_of(held.devices[i].device) != cluster.node_of(held.devices[i - 1].device);
  }
  const std::size_t on_node = cluster.nodes[cluster.node_of(held.devices.front().device)].devices;
  return nodes > (held.devices.size() + on_node - 1) / on_node;
}

// How ranks work together is decided where they are: of the entries of the menu that ask for the
// same, the one believed fastest on these devices; the one given among equals.
void settle_configuration(const State& state, const Submission& spec, Allocation& held) {
  const std::vector<Configuration>& menu = spec.menu->configurations;
  if (!spec.elastic || menu.size() == 1 || spec.kind == WorkloadKind::kService) return;
  const bool scattered = is_scattered(state.cluster(), held);
  const auto speed = [&](const Configuration& c) {
    return (scattered && c.scattered_rate > 0 ? c.scattered_rate : c.rate) * c.efficiency;
  };
  const Configuration& given = menu[held.configuration];
  for (std::size_t i = 0; i < menu.size(); ++i) {
    if (asks_the_same(menu[i], given) && speed(menu[i]) > speed(menu[held.configuration])) {
      held.configuration = static_cast<std::uint16_t>(i);
    }
  }
}

}  // namespace

void Draft::start(JobId id, Allocation allocation) {
  JobState& job = state_->jobs[id];
  CHECK(job.phase == Phase::kWaiting && !allocation.empty());
  settle_configuration(*state_, *job.spec, allocation);
  state_->ledger.take(id, allocation);
  job.held = std::move(allocation);
  job.phase = Phase::kPlaced;
  --state_->waiting;
  ++state_->placed;
  touched_.push_back(id);
}

Allocation Draft::stop(JobId id) {
  JobState& job = state_->jobs[id];
  CHECK(job.phase == Phase::kPlaced);
  state_->ledger.give(id, job.held);
  Allocation held = std::move(job.held);
  job.held.clear();
  job.phase = Phase::kWaiting;
  ++state_->waiting;
  --state_->placed;
  touched_.push_back(id);
  return held;
}

void Draft::move(JobId id, Allocation allocation) {
  JobState& job = state_->jobs[id];
  CHECK(job.phase == Phase::kPlaced && !allocation.empty());
  settle_configuration(*state_, *job.spec, allocation);
  state_->ledger.give(id, job.held);
  state_->ledger.take(id, allocation);
  job.held = std::move(allocation);
  touched_.push_back(id);
}

void Draft::reject(JobId id, std::string why) {
  CHECK(state_->jobs[id].phase == Phase::kWaiting);
  rejected_.emplace_back(id, std::move(why));
}

void Draft::clear() {
  touched_.clear();
  rejected_.clear();
  reasons_.clear();
  wake_at_ = kNever;
}

SetAside::SetAside(Draft& draft, const std::vector<NodeId>& nodes) : ledger_(draft.state_->ledger) {
  for (NodeId node : nodes) {
    if (!ledger_.available(node)) continue;
    ledger_.set_available(node, false);
    nodes_.push_back(node);
  }
}

SetAside::~SetAside() {
  for (NodeId node : nodes_) ledger_.set_available(node, true);
}

}  // namespace weft
