#include "policy/allocators/list.h"

#include <algorithm>
#include <cmath>

#include "policy/allocators/list_walk.h"
#include "policy/services.h"

namespace weft {

ListPolicy::ListPolicy(std::string name, ListOptions options, std::unique_ptr<Key> key,
                       std::unique_ptr<Place> place, std::vector<std::unique_ptr<Guard>> guards,
                       std::unique_ptr<Sharer> sharer)
    : name_(std::move(name)),
      options_(options),
      key_(std::move(key)),
      place_(std::move(place)),
      guards_(std::move(guards)),
      sharer_(std::move(sharer)) {
  for (const auto& guard : guards_) tenant_in_shape_ |= guard->depends_on_tenant();
}

void ListPolicy::decide(Draft& draft, const Change& change, PolicyMemory& memory) const {
  ListWalk walk(*this, draft, static_cast<ListMemory&>(memory));
  walk.fold(change);
  walk.refresh_keys();
  walk.scale_services();
  walk.run();
  walk.ask_to_be_woken();
  if (draft.state().watched != kNoJob) walk.explain_watched();
  if (options_.tune) walk.grow();
}

void ListWalk::fold(const Change& change) {
  const size_t jobs = state_.jobs.size();
  if (memory_.key.size() < jobs) {
    memory_.key.reserve(state_.jobs.capacity());
    memory_.shape.reserve(state_.jobs.capacity());
    memory_.key.resize(jobs);
    memory_.shape.resize(jobs);
  }
  for (JobId id : change.arrived) {
    memory_.shape[id] = shape_of(state_.job(id));
    if (state_.job(id).phase == Phase::kWaiting) file_waiting(id);
    if (state_.job(id).phase == Phase::kPlaced) adopt(id);
  }
  for (JobId id : change.returned) {
    leave_partner(id);
    unfile(id);
    file_waiting(id);
  }
  for (JobId id : change.ended) {
    leave_partner(id);
    unfile(id);
  }
  std::vector<JobId> released;
  std::erase_if(memory_.held_back, [&](JobId id) {
    if (state_.job(id).held_back_until > state_.now) return false;
    released.push_back(id);
    return true;
  });
  for (JobId id : released) file_waiting(id);
}

void ListWalk::refresh_keys() {
  Key::Drift drift = policy_.key_->drift();
  if (const std::uint64_t version = policy_.key_->version(state_); version != memory_.key_version) {
    memory_.key_version = version;
    drift = Key::Drift::kAlways;
  }
  switch (drift) {
    case Key::Drift::kFixed:
      return;
    case Key::Drift::kStepped:
      while (!memory_.steps.empty() && memory_.steps.top().first <= state_.now) {
        const JobId id = memory_.steps.top().second;
        memory_.steps.pop();
        if (state_.job(id).phase == Phase::kPlaced) {
          unfile(id);
          file_placed(id);
        }
      }
      return;
    case Key::Drift::kAlways:
      for (std::set<Entry>& queue : memory_.waiting) {
        std::vector<Entry> entries(queue.begin(), queue.end());
        queue.clear();
        for (const Entry& entry : entries) file_waiting(entry.id);
      }
      [[fallthrough]];
    case Key::Drift::kRunning: {
      const std::vector<Entry> entries(memory_.placed.begin(), memory_.placed.end());
      memory_.placed.clear();
      for (const Entry& entry : entries) file_placed(entry.id);
    }
  }
}

std::uint32_t ListWalk::shape_of(const JobState& job) {
  const Configuration& c = job.spec->requested();
  const bool service = job.spec->kind == WorkloadKind::kService;
  const Shape shape{types_as_asked(*job.spec),
                    c.devices,
                    c.milli,
                    c.device_memory,
                    c.cpu_milli,
                    c.host_memory,
                    static_cast<int>(c.pack),
                    c.pack_required,
                    job.spec->spot_ok,
                    service ? job.id + 1 : 0,
                    policy_.tenant_in_shape_ ? job.spec->tenant : TenantId{0},
                    policy_.sharer_ != nullptr ? job.spec->model
                    : policy_.options_.tune    ? host_menu(*job.spec)
                                               : kNoModel};
  const auto [at, fresh] =
      memory_.shapes.emplace(shape, static_cast<std::uint32_t>(memory_.waiting.size()));
  if (fresh) memory_.waiting.emplace_back();
  return at->second;
}

void ListWalk::file_waiting(JobId id) {
  const JobState& job = state_.job(id);
  if (job.held_back_until > state_.now) {
    memory_.held_back.push_back(id);
    return;
  }
  if (needs_profile(job)) {
    memory_.unprofiled.emplace(job.spec->requested().devices, id);
    return;
  }
  std::set<Entry>& queue = memory_.waiting[memory_.shape[id]];
  memory_.key[id] = policy_.key_->of(state_, job);
  queue.insert(queue.end(), filed(id));
}

void ListWalk::file_placed(JobId id) {
  const JobState& job = state_.job(id);
  if (job.spec->kind == WorkloadKind::kService) memory_.services.insert(id);
  if (policy_.options_.tune && tunings(*job.spec, job.held).size() > 1) memory_.tunable.insert(id);
  if (!policy_.options_.preempt) return;
  memory_.key[id] = policy_.key_->of(state_, job);
  memory_.placed.insert(filed(id));
  if (policy_.key_->drift() == Key::Drift::kStepped) {
    const Seconds at = policy_.key_->next_step(state_, job);
    // Far from zero the step may round to now; taken at once it would be taken for ever.
    if (at < kNever) memory_.steps.emplace(std::max(at, std::nextafter(state_.now, kNever)), id);
  }
}

// A job that was placed under another memory.
void ListWalk::adopt(JobId id) {
  file_placed(id);
  if (policy_.options_.profile > 0) adopt_profiled(id);
  if (policy_.sharer_ != nullptr) adopt_sharing(id);
}

void ListWalk::unfile(JobId id) {
  if (memory_.placed.erase(filed(id)) == 0) {
    memory_.waiting[memory_.shape[id]].erase(filed(id));
    if (!memory_.held_back.empty()) std::erase(memory_.held_back, id);
  }
  if (!memory_.services.empty()) memory_.services.erase(id);
  if (!memory_.tunable.empty()) memory_.tunable.erase(id);
  if (policy_.options_.profile > 0) {
    memory_.unprofiled.erase({state_.job(id).spec->requested().devices, id});
    memory_.profiling.erase(id);
    if (state_.job(id).phase == Phase::kEnded) memory_.profiled.erase(id);
  }
}

void ListWalk::start(JobId id, Allocation allocation) {
  memory_.waiting[memory_.shape[id]].erase(filed(id));
  draft_.start(id, std::move(allocation));
  file_placed(id);
  if (policy_.sharer_ != nullptr) note_alone(id);
}

Allocation ListWalk::stop(JobId id) {
  unfile(id);
  Allocation held = draft_.stop(id);
  file_waiting(id);
  return held;
}

bool ListWalk::may_start(const JobState& job) const {
  return std::all_of(policy_.guards_.begin(), policy_.guards_.end(),
                     [&](const auto& guard) { return guard->may_start(state_, job); });
}

bool ListWalk::may_stop(const JobState& job) const {
  if (!job.spec->preemptible) return false;
  return std::all_of(policy_.guards_.begin(), policy_.guards_.end(),
                     [&](const auto& guard) { return guard->may_stop(state_, job); });
}

bool ListWalk::fits(const JobState& job, Allocation& out) {
  if (policy_.options_.tune && job.spec->kind != WorkloadKind::kService) {
    return fits_tuned(job, out);
  }
  if (profile_type() != kAnyType && job.spec->kind != WorkloadKind::kService) {
    return fits_elsewhere(job, out);
  }
  const std::uint32_t wanted = replicas_wanted(job);
  return place(job, wanted, out) ||
         (wanted > job.spec->min_replicas && place(job, job.spec->min_replicas, out));
}

bool ListWalk::place(const JobState& job, std::uint32_t replicas, Allocation& out) const {
  std::vector<NodeId> avoided;
  for (const auto& guard : policy_.guards_) guard->avoid(state_, job, avoided);
  if (const auto shunned = state_.failures.shunned.find(job.id);
      shunned != state_.failures.shunned.end()) {
    avoided.insert(avoided.end(), shunned->second.begin(), shunned->second.end());
  }
  if (!avoided.empty()) {
    const SetAside aside(draft_, avoided);
    if (place_as_asked(*policy_.place_, state_, job, replicas, out)) return true;
  }
  return place_as_asked(*policy_.place_, state_, job, replicas, out);
}

bool ListWalk::place_or_evict(const JobState& job, const Entry& entry, bool may_evict,
                              Allocation& out) {
  if (!may_start(job)) return false;
  return fits(job, out) || (may_evict && evict_for(job, entry, job.spec->min_replicas, out));
}

bool ListWalk::next_head(const std::vector<bool>& closed, Entry& head) const {
  bool found = false;
  for (size_t shape = 0; shape < memory_.waiting.size(); ++shape) {
    if (closed[shape] || memory_.waiting[shape].empty()) continue;
    const Entry& candidate = *memory_.waiting[shape].begin();
    if (!found || candidate < head) head = candidate;
    found = true;
  }
  return found;
}

void ListWalk::run() {
  if (policy_.options_.profile > 0) end_profiles();
  if (state_.waiting == 0) return;
  if (policy_.sharer_ != nullptr) return walk_sharing();
  switch (policy_.options_.backfill) {
    case ListOptions::Backfill::kNone:
      return walk_blocking();
    case ListOptions::Backfill::kAny:
      return walk_passing();
    case ListOptions::Backfill::kEasy:
      return walk_easy();
  }
}

void ListWalk::walk_blocking() {
  const std::vector<bool> open(memory_.waiting.size(), false);
  Entry head;
  Allocation allocation;
  while (next_head(open, head)) {
    if (!place_or_evict(state_.job(head.id), head, policy_.options_.preempt, allocation)) return;
    start(head.id, std::move(allocation));
  }
}

void ListWalk::walk_passing() {
  std::vector<bool> closed(memory_.waiting.size(), false);
  Entry head;
  Allocation allocation;
  while (next_head(closed, head)) {
    if (place_or_evict(state_.job(head.id), head, policy_.options_.preempt, allocation)) {
      start(head.id, std::move(allocation));
    } else {
      closed[memory_.shape[head.id]] = true;
    }
  }
}

void ListWalk::ask_to_be_woken() {
  if (!memory_.steps.empty() && state_.waiting > 0) draft_.wake_at(memory_.steps.top().first);
  for (JobId id : memory_.held_back) draft_.wake_at(state_.job(id).held_back_until);
  if (!policy_.options_.preempt || state_.waiting == 0) return;
  for (const auto& guard : policy_.guards_) {
    for (const Entry& entry : memory_.placed) {
      const JobState& job = state_.job(entry.id);
      if (!guard->may_stop(state_, job)) draft_.wake_at(guard->stop_allowed_at(state_, job));
    }
  }
}

}  // namespace weft
