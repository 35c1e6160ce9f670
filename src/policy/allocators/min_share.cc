#include "policy/allocators/min_share.h"

#include <fmt/core.h>

#include <algorithm>

#include "policy/allocators/min_share_walk.h"

namespace weft {
namespace {

// Planning anew takes the cube of their number.
constexpr size_t kMostReplanned = 32;

}  // namespace

Seconds MinShareWalk::firm_end(const JobState& job) const {
  if (job.spec->kind == WorkloadKind::kService || !job.estimate.known()) return kNever;
  return state_.now + options_.restart + search_.work_left(job) / search_.speed(job, job.held);
}

void MinShareWalk::note_firm() {
  for (JobId id : state_.active) {
    const JobState& job = state_.job(id);
    if (job.phase != Phase::kPlaced || admitted(id) || gives_way(job)) continue;
    firm_.add({id, job.held, state_.now, firm_end(job)});
  }
}

// What all others hold and will hold.
Calendar MinShareWalk::planned_but_of(JobId id) const {
  Calendar calendar = firm_;
  for (const auto& [other, plan] : memory_.plans) {
    if (other == id) continue;
    for (const Booking& stay : plan) calendar.add(stay);
  }
  return calendar;
}

bool MinShareWalk::usable(const Plan& plan) const {
  for (const Booking& stay : plan) {
    for (const DeviceShare& share : stay.allocation.devices) {
      if (!state_.ledger.device_in_service(share.device)) return false;
    }
    if (firm_.clashes(stay)) return false;
  }
  return !plan.empty();
}

// Can the plan be followed, and is the job believed to end by it in time?
bool MinShareWalk::kept(JobId id, const Plan& plan) const {
  const JobState& job = state_.job(id);
  if (!usable(plan) || plan.front().from < job.held_back_until) return false;
  return search_.end_of(id, plan) <= job.spec->deadline;
}

// Those whose plans take most devices at once, as many as can be planned anew.
std::vector<JobId> MinShareWalk::widest() const {
  std::vector<std::pair<double, JobId>> ranked;
  for (const auto& [id, plan] : memory_.plans) {
    double most = 0;
    for (const Booking& stay : plan) most = std::max(most, stay.allocation.device_count());
    ranked.emplace_back(-most, id);
  }
  std::sort(ranked.begin(), ranked.end());
  if (ranked.size() > kMostReplanned) ranked.resize(kMostReplanned);
  std::vector<JobId> jobs;
  for (const auto& [unused, id] : ranked) jobs.push_back(id);
  return jobs;
}

// Each of them on the smallest share that is enough, in order of deadlines, beside the plans of all
// others. False if one is late.
bool MinShareWalk::plan_anew(std::vector<JobId> jobs, Plans& out) const {
  std::stable_sort(jobs.begin(), jobs.end(),
                   [&](JobId a, JobId b) { return deadline(a) < deadline(b); });
  Calendar calendar = firm_;
  for (const auto& [id, plan] : memory_.plans) {
    if (std::find(jobs.begin(), jobs.end(), id) != jobs.end()) continue;
    for (const Booking& stay : plan) calendar.add(stay);
  }
  // Whoever may not be stopped is planned first: nobody else may take its devices.
  std::stable_partition(jobs.begin(), jobs.end(), [&](JobId id) {
    const JobState& job = state_.job(id);
    return job.phase == Phase::kPlaced && !job.spec->preemptible;
  });
  out = memory_.plans;
  for (JobId id : jobs) {
    Plan& plan = out[id];
    if (!search_.least(calendar, id, plan)) return false;
    for (const Booking& stay : plan) calendar.add(stay);
  }
  return true;
}

// Forgets what is over, and plans anew who cannot keep to its plan.
void MinShareWalk::mend() {
  std::erase_if(memory_.plans,
                [&](const auto& entry) { return state_.job(entry.first).phase == Phase::kEnded; });
  std::vector<JobId> broken, all;
  for (auto& [id, plan] : memory_.plans) {
    std::erase_if(plan, [&](const Booking& stay) { return stay.to <= state_.now; });
    all.push_back(id);
    if (!kept(id, plan)) broken.push_back(id);
  }
  if (broken.empty()) return;
  Plans anew;
  if (all.size() <= kMostReplanned && plan_anew(all, anew)) {
    memory_.plans = std::move(anew);
    return;
  }
  for (JobId id : broken) memory_.plans[id].clear();
  std::stable_sort(broken.begin(), broken.end(),
                   [&](JobId a, JobId b) { return deadline(a) < deadline(b); });
  for (JobId id : broken) {
    const Calendar calendar = planned_but_of(id);
    Plan& plan = memory_.plans[id];
    if (search_.least(calendar, id, plan)) continue;
    // It will be late; then as little as possible.
    const std::uint32_t most = search_.shares(state_.job(id)).back();
    if (!search_.fill(calendar, id, most, kNever, plan)) plan.clear();
  }
}

// Even at their most efficient sizes, with no device ever idle, those due by then need more.
bool MinShareWalk::hopeless(JobId id) const {
  std::vector<std::pair<Seconds, double>> needs;  // deadline, device-seconds
  const auto add = [&](JobId of) {
    const JobState& job = state_.job(of);
    double least = kNever;
    for (const Configuration& c : job.spec->menu->configurations) {
      double rate = c.rate * c.efficiency;
      if (c.type == kAnyType) {
        double fastest = 0;
        for (const DeviceType& type : state_.cluster().types) {
          fastest = std::max(fastest, type.speed);
        }
        rate *= fastest;
      }
      if (rate > 0) least = std::min(least, c.devices * search_.work_left(job) / rate);
    }
    // A fraction of a device can be less than a device, and a late job needs no more promises.
    const bool counts = job.spec->requested().milli == kWhole && deadline(of) > state_.now;
    if (counts) needs.emplace_back(deadline(of), least);
  };
  add(id);
  for (const auto& [other, plan] : memory_.plans) add(other);
  std::sort(needs.begin(), needs.end());
  double sum = 0;
  for (const auto& [by, device_s] : needs) {
    sum += device_s;
    if (sum > state_.cluster().device_count() * (by - state_.now)) return true;
  }
  return false;
}

bool MinShareWalk::try_admit(JobId id) {
  Plan between;
  if (search_.least(planned_but_of(id), id, between)) {
    memory_.plans[id] = std::move(between);
    return true;
  }
  if (hopeless(id)) return false;
  std::vector<JobId> jobs = widest();
  jobs.push_back(id);
  Plans anew;
  if (!plan_anew(std::move(jobs), anew)) return false;
  memory_.plans = std::move(anew);
  return true;
}

void MinShareWalk::consider(JobId id) {
  const JobState& job = state_.job(id);
  if (job.phase != Phase::kWaiting || job.spec->deadline == kNever ||
      job.spec->kind == WorkloadKind::kService) {
    return;
  }
  if (job.estimate.known() && try_admit(id)) {
    memory_.admitted[id] = true;
  } else if (options_.reject) {
    draft_.reject(id, job.estimate.known()
                          ? fmt::format("no share of devices ends it by its deadline at {:.0f} s",
                                        job.spec->deadline)
                          : "it has a deadline but no estimate of its duration");
  }
}

// Brings every admitted job to what its plan says for now; best effort gives way.
void MinShareWalk::carry_out() {
  std::vector<const Booking*> due;
  for (const auto& [id, plan] : memory_.plans) {
    const Booking* now = nullptr;
    for (const Booking& stay : plan) {
      if (stay.from <= state_.now && state_.now < stay.to) now = &stay;
    }
    const JobState& job = state_.job(id);
    if (job.phase == Phase::kPlaced && (now == nullptr || job.held != now->allocation)) {
      draft_.stop(id);
    }
    if (now != nullptr && job.phase == Phase::kWaiting) due.push_back(now);
  }
  for (const Booking* stay : due) {
    for (JobId id : state_.active) {
      const JobState& job = state_.job(id);
      if (job.phase == Phase::kPlaced && gives_way(job) &&
          in_each_others_way(job.held, stay->allocation)) {
        draft_.stop(id);
      }
    }
    if (state_.ledger.has_room(stay->allocation)) draft_.start(stay->job, stay->allocation);
  }
}

// What was asked for, or as much of it as fits.
bool MinShareWalk::start_rest(const JobState& job, State& free) {
  const std::vector<Configuration>& menu = job.spec->menu->configurations;
  std::vector<std::uint16_t> order = entries_as_asked(*job.spec);
  const auto asked = static_cast<std::ptrdiff_t>(order.size());
  for (std::uint16_t i = 1; job.spec->elastic && i < menu.size(); ++i) {
    if (menu[i].devices < menu[0].devices && menu[i].rate > 0) order.push_back(i);
  }
  std::stable_sort(order.begin() + asked, order.end(),
                   [&](std::uint16_t a, std::uint16_t b) { return menu[a].rate > menu[b].rate; });
  for (std::uint16_t configuration : order) {
    Allocation found;
    if (!place_.place(free, job, configuration, job.spec->min_replicas, found)) continue;
    if (!gives_way(job)) {
      Booking stay{job.id, found, state_.now, kNever};
      if (job.estimate.known() && job.spec->kind != WorkloadKind::kService) {
        stay.to = state_.now + options_.restart +
                  search_.work_left(job) / std::max(search_.speed(job, found), 1e-9);
      }
      if (planned_but_of(job.id).clashes(stay)) continue;
      firm_.add(stay);
    }
    take_rest(free.ledger, found);
    draft_.start(job.id, std::move(found));
    return true;
  }
  return false;
}

void MinShareWalk::fill_rest() {
  std::vector<JobId> rejected;
  for (const auto& [id, why] : draft_.rejected()) rejected.push_back(id);
  State free = planned_but_of(kNoJob).taken_between(state_.now, state_.now + options_.lease);
  for (JobId id : state_.active) {
    const JobState& job = state_.job(id);
    if (job.phase == Phase::kPlaced && gives_way(job)) take_rest(free.ledger, job.held);
  }
  for (JobId id : state_.active) {
    const JobState& job = state_.job(id);
    if (job.phase != Phase::kWaiting || admitted(id) || job.held_back_until > state_.now) continue;
    if (std::find(rejected.begin(), rejected.end(), id) != rejected.end()) continue;
    if (free.ledger.free_whole_total() == 0) return;
    start_rest(job, free);
  }
}

// A plan on the next larger share than the job has now, if any, that begins now and ends sooner;
// `price` is what it costs in device-seconds for each device more.
bool MinShareWalk::widen(JobId id, Plan& better, double& price) const {
  const JobState& job = state_.job(id);
  if (job.running && !job.spec->preemptible) return false;
  const Plan& plan = memory_.plans.at(id);
  const auto held = static_cast<std::uint32_t>(job.held.devices.size());
  const std::vector<std::uint32_t> shares = search_.shares(job);
  const auto next = std::upper_bound(shares.begin(), shares.end(), held);
  if (next == shares.end()) return false;
  Calendar others = planned_but_of(id);
  for (JobId other : state_.active) {
    const JobState& placed = state_.job(other);
    if (placed.phase == Phase::kPlaced && gives_way(placed)) {
      others.add({other, placed.held, state_.now, kNever});
    }
  }
  if (!search_.fill(others, id, *next, job.spec->deadline, better)) return false;
  const std::size_t devices = better.front().allocation.devices.size();
  if (better.front().from > state_.now || devices <= held) return false;
  // Not for less than another restart.
  if (better.back().to >= plan.back().to - (job.running ? options_.restart : 0)) return false;
  price = (PlanSearch::device_seconds(better) - PlanSearch::device_seconds(plan)) /
          static_cast<double>(devices - held);
  return true;
}

void MinShareWalk::hand_out_spare() {
  std::vector<JobId> open;
  for (const auto& [id, plan] : memory_.plans) {
    if (!plan.empty()) open.push_back(id);
  }
  std::stable_sort(open.begin(), open.end(),
                   [&](JobId a, JobId b) { return deadline(a) < deadline(b); });
  if (open.size() > kMostReplanned) open.resize(kMostReplanned);
  while (state_.ledger.free_whole_total() > 0) {
    JobId best = kNoJob;
    Plan best_plan, plan;
    double least = kNever, price = 0;
    for (JobId id : open) {
      if (!widen(id, plan, price) || price >= least) continue;
      best = id;
      least = price;
      best_plan = plan;
    }
    if (best == kNoJob) return;
    memory_.plans[best] = std::move(best_plan);
    if (state_.job(best).phase == Phase::kPlaced) draft_.stop(best);
    draft_.start(best, memory_.plans[best].front().allocation);
  }
}

std::unique_ptr<PolicyMemory> MinSharePolicy::new_memory() const {
  return std::make_unique<MinShareMemory>();
}

void MinSharePolicy::decide(Draft& draft, const Change& change, PolicyMemory& memory) const {
  MinShareWalk(options_, *place_, draft, static_cast<MinShareMemory&>(memory)).run(change);
}

}  // namespace weft
