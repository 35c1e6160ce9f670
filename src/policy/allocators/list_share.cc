// How a list policy lets jobs share devices: a job for which no devices are free may sit beside a
// placed job, half of every device for either, until one of the two ends.
#include <algorithm>
#include <functional>
#include <queue>

#include "policy/allocators/list_walk.h"
#include "policy/solve/matching.h"

namespace weft {
namespace {

// Hosts of one size that are matched at a time: the matching is cubic.
constexpr size_t kMostMatched = 64;

bool may_host(const JobState& job) {
  return job.spec->kind != WorkloadKind::kService && job.spec->requested().milli == kWhole;
}

}  // namespace

Allocation with_share(const Allocation& held, std::uint16_t milli) {
  Allocation out = held;
  for (DeviceShare& share : out.devices) share.milli = milli;
  return out;
}

bool fits_beside(const State& state, const JobState& guest, const Configuration& configuration,
                 const Allocation& held) {
  const Cluster& cluster = state.cluster();
  for (size_t i = 0; i < held.devices.size();) {
    const NodeId node = cluster.node_of(held.devices[i].device);
    std::uint32_t devices = 0;
    for (; i < held.devices.size() && cluster.node_of(held.devices[i].device) == node; ++i) {
      if (!state.ledger.device_in_service(node, held.devices[i].device)) return false;
      ++devices;
    }
    if (!node_suits(state, node, devices, guest, configuration)) return false;
  }
  return true;
}

void ListWalk::note_alone(JobId id) {
  if (!may_host(state_.job(id))) return;
  if (memory_.started.size() < state_.jobs.size()) {
    memory_.started.resize(state_.jobs.capacity(), 0);
    memory_.partner.resize(state_.jobs.capacity(), kNoJob);
  }
  memory_.started[id] = ++memory_.starts;
  list_alone(id);
}

void ListWalk::list_alone(JobId id) {
  memory_.alone[static_cast<std::uint32_t>(state_.job(id).held.devices.size())].insert(
      {memory_.started[id], id});
}

void ListWalk::unlist_alone(JobId id) {
  const std::uint32_t devices = state_.job(id).spec->requested().devices;
  if (const auto at = memory_.alone.find(devices); at != memory_.alone.end()) {
    at->second.erase({memory_.started[id], id});
  }
}

// The job left its devices; whoever sat beside it has them to itself again.
void ListWalk::leave_partner(JobId id) {
  if (policy_.sharer_ == nullptr || id >= memory_.started.size()) return;
  unlist_alone(id);
  const JobId partner = std::exchange(memory_.partner[id], kNoJob);
  if (partner == kNoJob) return;
  memory_.partner[partner] = kNoJob;
  const JobState& other = state_.job(partner);
  if (other.phase != Phase::kPlaced) return;
  draft_.move(partner, with_share(other.held, kWhole));
  list_alone(partner);
}

// One that was placed under another memory: beside whoever holds the other halves, if anybody does.
void ListWalk::adopt_sharing(JobId id) {
  if (!may_host(state_.job(id))) return;
  note_alone(id);
  const DeviceShare& share = state_.job(id).held.devices.front();
  if (share.milli == kWhole) return;
  for (JobId other : state_.ledger.users(share.device)) {
    if (other == id || !may_host(state_.job(other))) continue;
    unlist_alone(id);
    if (other > id) return;  // it will be adopted too
    unlist_alone(other);
    memory_.partner[id] = other;
    memory_.partner[other] = id;
    return;
  }
  draft_.move(id, with_share(state_.job(id).held, kWhole));
}

bool ListWalk::join(const JobState& guest) {
  const Configuration& wanted = guest.spec->requested();
  const auto hosts = memory_.alone.find(wanted.devices);
  if (!may_host(guest) || hosts == memory_.alone.end()) return false;
  JobId best = kNoJob;
  double best_gain = 0;
  for (const auto& [order, id] : hosts->second) {
    const JobState& host = state_.job(id);
    if (!type_suits(guest, id)) continue;
    const double gain = policy_.sharer_->gain(state_, guest, host);
    if (gain <= best_gain || !fits_beside(state_, guest, wanted, host.held)) continue;
    best = id;
    best_gain = gain;
    if (gain >= policy_.sharer_->best_gain()) break;
  }
  if (best == kNoJob) return false;
  join_pair(guest, best);
  return true;
}

void ListWalk::join_pair(const JobState& guest, JobId host) {
  Allocation allocation = with_share(state_.job(host).held, kHalf);
  unlist_alone(host);
  draft_.move(host, allocation);
  allocation.configuration = 0;
  fill_hosts(state_.cluster(), guest.spec->requested(), allocation);
  start(guest.id, std::move(allocation));
  unlist_alone(guest.id);
  memory_.partner[guest.id] = host;
  memory_.partner[host] = guest.id;
}

// The first waiting jobs of each size with the hosts of that size, by the largest total gain.
void ListWalk::match_all() {
  std::map<std::uint32_t, std::vector<Entry>> guests;  // by devices
  for (const std::set<Entry>& queue : memory_.waiting) {
    size_t taken = 0;
    for (const Entry& entry : queue) {
      const JobState& job = state_.job(entry.id);
      if (!may_host(job) || !may_start(job) || ++taken > kMostMatched) break;
      guests[job.spec->requested().devices].push_back(entry);
    }
  }
  for (auto& [devices, waiting] : guests) {
    const auto alone = memory_.alone.find(devices);
    if (alone == memory_.alone.end() || alone->second.empty()) continue;
    std::vector<JobId> hosts;
    for (const auto& [order, id] : alone->second) {
      if (hosts.size() < kMostMatched) hosts.push_back(id);
    }
    std::sort(waiting.begin(), waiting.end());
    if (waiting.size() > hosts.size()) waiting.resize(hosts.size());
    std::vector<double> cost;
    for (const Entry& entry : waiting) {
      const JobState& guest = state_.job(entry.id);
      for (JobId id : hosts) {
        const bool suits = type_suits(guest, id) &&
                           fits_beside(state_, guest, guest.spec->requested(), state_.job(id).held);
        cost.push_back(suits ? -std::max(0.0, policy_.sharer_->gain(state_, guest, state_.job(id)))
                             : 0);
      }
    }
    const std::vector<std::size_t> host_of = min_cost_matching(waiting.size(), hosts.size(), cost);
    for (size_t i = 0; i < waiting.size(); ++i) {
      if (cost[i * hosts.size() + host_of[i]] < 0) {
        join_pair(state_.job(waiting[i].id), hosts[host_of[i]]);
      }
    }
  }
}

bool ListWalk::type_suits(const JobState& guest, JobId host) const {
  const TypeId wanted = guest.spec->requested().type;
  return wanted == kAnyType ||
         wanted == state_.cluster().type_of(state_.job(host).held.devices.front().device);
}

// Free devices first, else a place beside another job. A shape names the model here, so of two jobs
// of one shape the one with the smaller key still finds a place if either does.
void ListWalk::walk_sharing() {
  start_profiles();
  using Head = std::pair<Entry, std::uint32_t>;
  std::priority_queue<Head, std::vector<Head>, std::greater<>> heads;
  const auto offer = [&](std::uint32_t shape) {
    if (!memory_.waiting[shape].empty()) heads.emplace(*memory_.waiting[shape].begin(), shape);
  };
  for (std::uint32_t shape = 0; shape < memory_.waiting.size(); ++shape) offer(shape);
  Allocation allocation;
  while (!heads.empty()) {
    const auto [head, shape] = heads.top();
    heads.pop();
    const JobState& job = state_.job(head.id);
    bool placed = false;
    if (may_start(job)) {
      if (fits(job, allocation)) {
        start(head.id, std::move(allocation));
        placed = true;
      } else {
        placed = !policy_.sharer_->matches() && join(job);
      }
    }
    if (placed) {
      offer(shape);
    } else if (policy_.options_.backfill == ListOptions::Backfill::kNone) {
      break;
    }
  }
  if (policy_.sharer_->matches()) match_all();
}

}  // namespace weft
