#include "policy/allocators/spot_mix.h"

#include <fmt/core.h>

#include <algorithm>

#include "policy/allocators/time_share.h"
#include "policy/explain.h"
#include "policy/idle.h"
#include "policy/place.h"
#include "policy/services.h"

namespace weft {
namespace {

class SpotWalk {
 public:
  SpotWalk(const SpotMixOptions& options, Draft& draft)
      : options_(options), draft_(draft), state_(draft.state()), cluster_(state_.cluster()) {}

  void run() {
    serve_services(draft_, packed_);
    std::vector<JobId> jobs;
    for (JobId id : state_.active) {
      const JobState& job = state_.job(id);
      if (job.phase != Phase::kEnded && job.spec->kind != WorkloadKind::kService) {
        jobs.push_back(id);
      }
    }
    std::stable_sort(jobs.begin(), jobs.end(), [&](JobId a, JobId b) {
      return state_.job(a).spec->deadline < state_.job(b).spec->deadline;
    });
    for (JobId id : jobs) {
      if (state_.job(id).phase == Phase::kPlaced) {
        reconsider(state_.job(id));
      } else {
        admit(state_.job(id));
      }
    }
  }

  void explain() const {
    const JobState* const job = to_explain(state_);
    if (job == nullptr) return;
    std::uint32_t ahead = 0;
    for (JobId id : state_.active) {
      const JobState& other = state_.job(id);
      ahead += other.phase == Phase::kWaiting && other.spec->deadline < job->spec->deadline;
    }
    const Progress p = progress(*job);
    explain_waiting(draft_, packed_, ahead,
                    p.behind || p.pinned ? "no node of either class has room for it"
                    : p.falls_behind < kNever
                        ? fmt::format("ahead of its line until {:.0f} s, it waits for spot devices",
                                      std::min(p.falls_behind, p.pins))
                        : "without a deadline it waits for spot devices");
  }

 private:
  struct Progress {
    bool behind = true;                            // of the uniform line
    bool far_ahead = false;                        // by two changeovers
    bool pinned = false;                           // no slack left for another change
    Seconds falls_behind = kNever, pins = kNever;  // if it makes no progress until then
  };

  Progress progress(const JobState& job) const {
    Progress p;
    const Submission& spec = *job.spec;
    if (!spec.spot_ok) p.pinned = true;
    if (spec.deadline == kNever) {
      p.behind = p.pinned || !spot_can_hold(spec.requested());
      p.far_ahead = !p.behind;
      return p;
    }
    const Seconds left = job.remaining_s(state_.now), window = spec.deadline - job.submit;
    if (left == kNever || window <= 0) return p;
    const Seconds whole = std::max(job.estimate.duration, left), done = whole - left;
    p.falls_behind = job.submit + (whole > 0 ? done / whole : 1) * window;
    p.behind = state_.now >= p.falls_behind * (1 - 1e-12);
    p.far_ahead = state_.now + 2 * options_.changeover <= p.falls_behind;
    p.pins = spec.deadline - left - 2 * options_.changeover;
    p.pinned |= state_.now >= p.pins * (1 - 1e-12);
    return p;
  }

  // Moves a job from on-demand back to spot nodes, or off them when it has no slack left.
  void reconsider(const JobState& job) {
    if (!job.spec->preemptible || !job.running) return;
    const Progress p = progress(job);
    const bool on_spot = class_of(job) == NodeClass::kSpot;
    const NodeClass other = on_spot ? NodeClass::kOnDemand : NodeClass::kSpot;
    const bool wants = on_spot ? p.pinned && job.spec->deadline < kNever : p.far_ahead && !p.pinned;
    Allocation allocation;
    if (wants && find(job, other, allocation)) return draft_.move(job.id, std::move(allocation));
    // While it runs on on-demand nodes it gets further ahead; ask again when it is far enough.
    if (!on_spot && !p.far_ahead && !p.pinned && p.falls_behind < kNever) {
      const double gain = (job.spec->deadline - job.submit) / std::max(1.0, job.estimate.duration);
      const Seconds missing = state_.now + 2 * options_.changeover - p.falls_behind;
      if (gain > 1) draft_.wake_at(state_.now + std::max(1.0, missing / (gain - 1)));
    }
  }

  void admit(const JobState& job) {
    if (job.held_back_until > state_.now) return draft_.wake_at(job.held_back_until);
    const Progress p = progress(job);
    Allocation allocation;
    if (!p.pinned && find(job, NodeClass::kSpot, allocation)) {
      return draft_.start(job.id, std::move(allocation));
    }
    if (p.behind || p.pinned) {
      if (find(job, NodeClass::kOnDemand, allocation) || make_room(job, allocation) ||
          (job.spec->spot_ok && find(job, NodeClass::kSpot, allocation))) {
        draft_.start(job.id, std::move(allocation));
      }
      return;
    }
    draft_.wake_at(std::max(state_.now + 1e-3, std::min(p.falls_behind, p.pins)));
  }

  // A job with a deadline takes on-demand devices from those without one, youngest first.
  bool make_room(const JobState& job, Allocation& out) {
    if (job.spec->deadline == kNever) return false;
    std::vector<std::pair<JobId, Allocation>> stopped;
    bool found = false;
    for (auto id = state_.active.rbegin(); id != state_.active.rend() && !found; ++id) {
      const JobState& other = state_.job(*id);
      if (other.phase != Phase::kPlaced || other.spec->deadline < kNever ||
          !other.spec->preemptible || other.spec->kind == WorkloadKind::kService ||
          class_of(other) == NodeClass::kSpot) {
        continue;
      }
      stopped.emplace_back(*id, draft_.stop(*id));
      found = find(job, NodeClass::kOnDemand, out);
    }
    for (auto victim = stopped.rbegin(); victim != stopped.rend(); ++victim) {
      const bool needed = found && overlap(victim->second, out);
      if (!needed) draft_.start(victim->first, std::move(victim->second));
    }
    return found;
  }

  static bool overlap(const Allocation& a, const Allocation& b) {
    return std::any_of(a.devices.begin(), a.devices.end(), [&](const DeviceShare& x) {
      return std::any_of(b.devices.begin(), b.devices.end(),
                         [&](const DeviceShare& y) { return x.device == y.device; });
    });
  }

  NodeClass class_of(const JobState& job) const {
    return cluster_.nodes[cluster_.node_of(job.held.devices.front().device)].node_class;
  }

  bool spot_can_hold(const Configuration& c) const {
    std::uint32_t devices = 0;
    for (const Node& node : cluster_.nodes) {
      if (node.node_class != NodeClass::kSpot || (c.type != kAnyType && c.type != node.type))
        continue;
      devices += node.devices;
    }
    return devices >= c.devices;
  }

  // Devices of one type on nodes of one class: on the fullest single node that has room, else on
  // the emptiest nodes.
  bool find(const JobState& job, NodeClass node_class, Allocation& out) const {
    for (TypeId type = 0; type < cluster_.types.size(); ++type) {
      const int entry = configuration_on(*job.spec, type);
      if (entry < 0) continue;
      const Configuration& c = job.spec->menu->configurations[static_cast<size_t>(entry)];
      std::vector<std::pair<std::uint32_t, NodeId>> nodes;  // (free, node)
      for (NodeId id = 0; id < cluster_.nodes.size(); ++id) {
        const Node& node = cluster_.nodes[id];
        const std::uint32_t free = state_.ledger.free_whole(id);
        if (node.type != type || node.node_class != node_class || free == 0) continue;
        if (node_suits(state_, id, std::min(free, c.devices), job, c)) {
          nodes.emplace_back(free, id);
        }
      }
      std::sort(nodes.begin(), nodes.end());
      const auto one = std::find_if(nodes.begin(), nodes.end(),
                                    [&](const auto& node) { return node.first >= c.devices; });
      if (one != nodes.end()) {
        nodes = {*one};
      } else {
        std::stable_sort(nodes.begin(), nodes.end(),
                         [](const auto& a, const auto& b) { return a.first > b.first; });
      }
      if (!collect(nodes, c, out)) continue;
      out.configuration = static_cast<std::uint16_t>(entry);
      return true;
    }
    return false;
  }

  bool collect(const std::vector<std::pair<std::uint32_t, NodeId>>& nodes, const Configuration& c,
               Allocation& out) const {
    out.clear();
    std::uint32_t left = c.devices;
    for (const auto& [free, node] : nodes) {
      const std::uint32_t take = std::min(left, free);
      append_devices(state_.ledger, node, take, c, out);
      left -= take;
      if (left == 0) break;
    }
    if (left > 0) return false;
    std::sort(out.devices.begin(), out.devices.end(),
              [](const DeviceShare& a, const DeviceShare& b) { return a.device < b.device; });
    fill_hosts(cluster_, c, out);
    return true;
  }

  const SpotMixOptions& options_;
  Draft& draft_;
  const State& state_;
  const Cluster& cluster_;
  PackedPlace packed_{NodeOrder::kBest, true};
};

}  // namespace

void SpotMixPolicy::decide(Draft& draft, const Change&, PolicyMemory&) const {
  SpotWalk walk(options_, draft);
  walk.run();
  start_something_if_idle(draft);
  walk.explain();
}

}  // namespace weft
