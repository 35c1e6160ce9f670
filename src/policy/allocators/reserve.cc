#include "policy/allocators/reserve.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "policy/allocators/plan_walk.h"
#include "policy/explain.h"

namespace weft {
namespace {

// Booking all anew takes the cube of their number: with more than this many, admission looks only
// for room between them.
constexpr size_t kMostRebooked = 32;
// Keeps the ends of jobs apart from the bookings after them, whatever rounding does.
constexpr Seconds kBookingPad = 1e-3;

struct ReserveMemory : PolicyMemory {
  std::vector<bool> admitted;     // by job
  std::vector<Booking> bookings;  // of admitted jobs that wait
  std::vector<Seconds> until;     // by job: to when its devices are booked, if placed
};

// One decision.
class ReserveWalk {
 public:
  ReserveWalk(const ReserveOptions& options, const Place& place, Draft& draft,
              ReserveMemory& memory)
      : options_(options),
        place_(place),
        draft_(draft),
        memory_(memory),
        state_(draft.state()),
        standing_(state_, place) {
    if (options.power) power_.emplace(state_, *options.power);
  }

  void run(const Change& change) {
    memory_.admitted.resize(state_.jobs.size());
    memory_.until.resize(state_.jobs.size());
    for (JobId id : change.ended) memory_.admitted[id] = false;
    std::erase_if(memory_.bookings, [&](const Booking& booking) {
      return state_.job(booking.job).phase != Phase::kWaiting;
    });
    note_standing();
    mend(change);
    admit(change.arrived);
    start_booked();
    fill_rest();
    if (power_) set_caps();
    for (const Booking& booking : memory_.bookings) draft_.wake_at(booking.from);
    PlanWalk::wake_for_held_back(draft_);
    explain();
  }

 private:
  using Bookings = std::vector<Booking>;

  bool admitted(JobId id) const { return memory_.admitted[id]; }
  // May be stopped at any time for a booking.
  bool gives_way(const JobState& job) const {
    return !admitted(job.id) && job.spec->preemptible && job.spec->kind != WorkloadKind::kService;
  }
  Seconds left(const JobState& job, std::uint16_t configuration, bool uncapped = false) const;
  Seconds left(const JobState& job) const { return left(job, job.held.configuration); }
  // How long devices are booked for a job that needs this time.
  Seconds in_leases(Seconds time) const {
    if (power_ && time > 1e-6) return time + kBookingPad;
    return std::max(1.0, std::ceil(time / options_.lease - 1e-9)) * options_.lease;
  }
  std::vector<std::uint16_t> shapes(const JobState& job, bool promised) const {
    return power_ ? power_->shapes(job, promised) : entries_as_asked(*job.spec);
  }
  Window window(JobId id, bool strict, std::uint16_t configuration) const;
  bool find(const Calendar& calendar, JobId id, bool strict, Booking& out) const;
  void note_standing();
  bool book(std::vector<JobId> jobs, bool strict, Bookings& out) const;
  std::vector<JobId> waiting_admitted() const;
  void mend(const Change& change);
  void move_up();
  void admit(const std::vector<JobId>& arrived);
  bool try_admit(JobId id);
  void start_booked();
  void fill_rest();
  bool fill_firm(JobId id, std::uint16_t configuration);
  void set_caps();
  void explain() const;

  const ReserveOptions& options_;
  const Place& place_;
  Draft& draft_;
  ReserveMemory& memory_;
  const State& state_;
  Calendar standing_;  // placed jobs that do not give way, and devices without power
  std::optional<PowerCaps> power_;
};

// Believed seconds left on the configuration, on the slowest devices it may get or on those it has;
// at the speed that is sure, or uncapped.
Seconds ReserveWalk::left(const JobState& job, std::uint16_t configuration, bool uncapped) const {
  const Cluster& cluster = state_.cluster();
  const Configuration& asked = job.spec->requested();
  const Configuration& c = job.spec->menu->configurations[configuration];
  const auto speed_on = [&](TypeId type) {
    const double speed = c.type == kAnyType ? cluster.types[type].speed : 1;
    return power_ && !uncapped ? speed * power_->sure_speed(type) : speed;
  };
  double speed = 1;
  if (job.phase == Phase::kPlaced) {
    speed = speed_on(cluster.type_of(job.held.devices.front().device));
  } else if (c.type != kAnyType) {
    speed = speed_on(c.type);
  } else {
    for (TypeId type = 0; type < cluster.types.size(); ++type) {
      speed = std::min(speed, speed_on(type));
    }
  }
  const double work_rate = c.rate * c.efficiency;
  const double longer = work_rate > 0 && asked.rate > 0 ? asked.rate / work_rate : 1;
  return job.remaining_s(state_.now) * longer / std::max(speed, 1e-9);
}

Window ReserveWalk::window(JobId id, bool strict, std::uint16_t configuration) const {
  const JobState& job = state_.job(id);
  const Seconds length = left(job, configuration);
  return {std::max(state_.now, job.held_back_until), length, in_leases(length),
          strict ? job.spec->deadline : kNever, configuration};
}

bool ReserveWalk::find(const Calendar& calendar, JobId id, bool strict, Booking& out) const {
  for (std::uint16_t shape : shapes(state_.job(id), true)) {
    if (calendar.find(id, window(id, strict, shape), out)) return true;
  }
  return false;
}

void ReserveWalk::note_standing() {
  if (power_ && !power_->dark().empty()) standing_.add({kNoJob, power_->dark(), 0, kNever});
  for (JobId id : state_.active) {
    const JobState& job = state_.job(id);
    if (job.phase != Phase::kPlaced || gives_way(job)) continue;
    // A job that outlives what was believed is given more leases, again and again.
    Seconds& until = memory_.until[id];
    if (power_ || until <= state_.now || state_.now + left(job) > until + 1e-6) {
      until = state_.now + in_leases(left(job));
    }
    standing_.add({id, job.held, state_.now, until});
  }
}

// Books the jobs in order of deadlines. Strict: false if one cannot end in time. Otherwise a job
// for which there is no room at all is left out and booked when something changes.
bool ReserveWalk::book(std::vector<JobId> jobs, bool strict, Bookings& out) const {
  std::stable_sort(jobs.begin(), jobs.end(), [&](JobId a, JobId b) {
    return state_.job(a).spec->deadline < state_.job(b).spec->deadline;
  });
  Calendar calendar = standing_;
  out.clear();
  for (JobId id : jobs) {
    Booking booking;
    if (!find(calendar, id, strict, booking)) {
      if (strict) return false;
      continue;
    }
    calendar.add(booking);
    out.push_back(std::move(booking));
  }
  return true;
}

std::vector<JobId> ReserveWalk::waiting_admitted() const {
  std::vector<JobId> jobs;
  for (JobId id : state_.active) {
    if (admitted(id) && state_.job(id).phase == Phase::kWaiting) jobs.push_back(id);
  }
  return jobs;
}

// What came free early goes to the booked job with the earliest deadline that fits now; all other
// bookings stay as they are.
void ReserveWalk::move_up() {
  std::stable_sort(memory_.bookings.begin(), memory_.bookings.end(),
                   [&](const Booking& a, const Booking& b) {
                     return state_.job(a.job).spec->deadline < state_.job(b.job).spec->deadline;
                   });
  for (size_t i = 0; i < memory_.bookings.size(); ++i) {
    Calendar others = standing_;
    for (const Booking& booking : memory_.bookings) {
      if (booking.job != memory_.bookings[i].job) others.add(booking);
    }
    const Booking& booked = memory_.bookings[i];
    Window at_once = window(booked.job, true, booked.allocation.configuration);
    at_once.latest_end = std::min(at_once.latest_end, state_.now + at_once.length);
    Booking sooner;
    if (others.find(memory_.bookings[i].job, at_once, sooner)) {
      memory_.bookings[i] = std::move(sooner);
    }
  }
}

// Moves bookings up when devices came free early, and anew when they cannot be kept.
void ReserveWalk::mend(const Change& change) {
  const std::vector<JobId> jobs = waiting_admitted();
  if (jobs.empty()) return;
  bool broken = change.nodes || jobs.size() != memory_.bookings.size();
  for (const Booking& booking : memory_.bookings) {
    broken = broken || booking.from < state_.now || standing_.clashes(booking) ||
             state_.job(booking.job).held_back_until > booking.from;
  }
  if (broken) {
    Bookings anew;
    if (book(jobs, true, anew) || book(jobs, false, anew)) memory_.bookings = std::move(anew);
  } else if (!change.ended.empty()) {
    move_up();
  }
}

bool ReserveWalk::try_admit(JobId id) {
  Calendar calendar = standing_;
  for (const Booking& booking : memory_.bookings) calendar.add(booking);
  Booking between;
  if (find(calendar, id, true, between)) {
    memory_.bookings.push_back(std::move(between));
    return true;
  }
  std::vector<JobId> jobs = waiting_admitted();
  if (jobs.size() > kMostRebooked) return false;
  jobs.push_back(id);
  Bookings anew;
  if (!book(jobs, true, anew)) return false;
  memory_.bookings = std::move(anew);
  return true;
}

void ReserveWalk::admit(const std::vector<JobId>& arrived) {
  for (JobId id : arrived) {
    const JobState& job = state_.job(id);
    if (job.phase != Phase::kWaiting || job.spec->deadline == kNever ||
        job.spec->kind == WorkloadKind::kService) {
      continue;
    }
    if (job.estimate.known() && try_admit(id)) {
      memory_.admitted[id] = true;
    } else if (options_.reject) {
      draft_.reject(id,
                    fmt::format("its deadline at {:.0f} s cannot be promised", job.spec->deadline));
    }
  }
}

void ReserveWalk::start_booked() {
  Bookings later;
  for (Booking& booking : memory_.bookings) {
    if (booking.from > state_.now) {
      later.push_back(std::move(booking));
      continue;
    }
    for (JobId id : state_.active) {
      const JobState& job = state_.job(id);
      if (job.phase == Phase::kPlaced && gives_way(job) &&
          in_each_others_way(job.held, booking.allocation)) {
        draft_.stop(id);
      }
    }
    if (!state_.ledger.has_room(booking.allocation)) {
      // Whoever holds the devices outlived its belief; the booking waits for another lease.
      booking.from += options_.lease;
      booking.to += options_.lease;
      later.push_back(std::move(booking));
      continue;
    }
    memory_.until[booking.job] = booking.to;
    standing_.add(booking);
    draft_.start(booking.job, std::move(booking.allocation));
  }
  memory_.bookings = std::move(later);
}

// A job that may not be stopped: only where nothing is booked before it is believed to end.
bool ReserveWalk::fill_firm(JobId id, std::uint16_t configuration) {
  const JobState& job = state_.job(id);
  Calendar calendar = standing_;
  for (const Booking& booking : memory_.bookings) calendar.add(booking);
  for (JobId other : state_.active) {
    const JobState& placed = state_.job(other);
    if (placed.phase == Phase::kPlaced && gives_way(placed)) {
      calendar.add({other, placed.held, state_.now, kNever});
    }
  }
  const bool service = job.spec->kind == WorkloadKind::kService;
  const Seconds length = service ? kNever : left(job, configuration);
  Booking now;
  if (!calendar.find(id, {state_.now, 0, length, state_.now, configuration}, now)) return false;
  if (!state_.ledger.has_room(now.allocation)) return false;
  memory_.until[id] = now.to;
  standing_.add(now);
  draft_.start(id, std::move(now.allocation));
  return true;
}

void ReserveWalk::fill_rest() {
  std::vector<JobId> rejected;
  for (const auto& [id, why] : draft_.rejected()) rejected.push_back(id);
  // What stays free for one lease, and what is free now, the former being a part of the latter.
  Calendar calendar = standing_;
  for (const Booking& booking : memory_.bookings) calendar.add(booking);
  State free = calendar.taken_between(state_.now, state_.now + options_.lease);
  for (JobId id : state_.active) {
    const JobState& job = state_.job(id);
    if (job.phase == Phase::kPlaced && gives_way(job)) take_rest(free.ledger, job.held);
  }
  for (JobId id : state_.active) {
    const JobState& job = state_.job(id);
    if (job.phase != Phase::kWaiting || admitted(id) || job.held_back_until > state_.now) continue;
    if (std::find(rejected.begin(), rejected.end(), id) != rejected.end()) continue;
    if (free.ledger.free_whole_total() == 0) return;
    for (std::uint16_t shape : shapes(job, false)) {
      Allocation found;
      if (!place_.place(free, job, shape, job.spec->min_replicas, found)) continue;
      if (gives_way(job)) {
        take_rest(free.ledger, found);
        draft_.start(id, std::move(found));
      } else if (fill_firm(id, shape)) {
        take_rest(free.ledger, job.held);
      }
      break;
    }
  }
}

void ReserveWalk::set_caps() {
  std::vector<PowerCaps::Holder> holders;
  for (JobId id : state_.active) {
    const JobState& job = state_.job(id);
    if (job.phase != Phase::kPlaced) continue;
    PowerCaps::Holder& holder = holders.emplace_back();
    holder.job = id;
    holder.promised = admitted(id);
    holder.left = left(job, job.held.configuration, true);
    if (gives_way(job)) continue;
    if (admitted(id)) holder.latest_end = job.spec->deadline;
    for (const Booking& booking : memory_.bookings) {
      if (in_each_others_way(job.held, booking.allocation)) {
        holder.latest_end = std::min(holder.latest_end, booking.from);
      }
    }
    holder.latest_end -= kBookingPad;
    // Nobody knows when a service has done enough.
    if (job.spec->kind == WorkloadKind::kService) holder.latest_end = state_.now;
  }
  power_->set(draft_, holders);
}

void ReserveWalk::explain() const {
  const JobState* const job = to_explain(state_);
  if (job == nullptr) return;
  std::uint32_t ahead = 0;
  for (const Booking& booking : memory_.bookings) {
    if (booking.job == job->id) {
      return explain_waiting(draft_, place_, 0,
                             fmt::format("it is booked from {:.0f} s on", booking.from));
    }
    ++ahead;
  }
  explain_waiting(draft_, place_, ahead,
                  admitted(job->id) ? "it is admitted, but its devices are out of service"
                                    : "it has no booking and runs only on devices that stay "
                                      "unbooked for a lease");
}

}  // namespace

std::unique_ptr<PolicyMemory> ReservePolicy::new_memory() const {
  return std::make_unique<ReserveMemory>();
}

void ReservePolicy::decide(Draft& draft, const Change& change, PolicyMemory& memory) const {
  ReserveWalk(options_, *place_, draft, static_cast<ReserveMemory&>(memory)).run(change);
}

}  // namespace weft
