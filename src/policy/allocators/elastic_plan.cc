#include "policy/allocators/elastic_plan.h"

#include <algorithm>

namespace weft {
namespace {

// A job is kept on its devices a little longer than it should need, and should end a little before
// its deadline, so that rounding changes neither.
constexpr Seconds kElasticPad = 1e-3;

std::uint32_t largest_node(const Cluster& cluster, TypeId type) {
  std::uint32_t most = 1;
  for (const Node& node : cluster.nodes) {
    if (type == kAnyType || node.type == type) most = std::max<std::uint32_t>(most, node.devices);
  }
  return most;
}

bool leaves_no_gap(const Cluster& cluster, const Configuration& c) {
  const std::uint32_t node = largest_node(cluster, c.type);
  return c.devices <= node ? (c.devices & (c.devices - 1)) == 0 : c.devices % node == 0;
}

// Times at which others come or go, from `from` on.
std::vector<Seconds> turns(const Calendar& others, Seconds from, Seconds until) {
  std::vector<Seconds> times = {from};
  for (const Booking& booking : others.bookings()) {
    for (Seconds at : {booking.from, booking.to}) {
      if (at > from && at < until) times.push_back(at);
    }
  }
  std::sort(times.begin(), times.end());
  times.erase(std::unique(times.begin(), times.end()), times.end());
  return times;
}

}  // namespace

double PlanSearch::work_left(const JobState& job) const {
  const double total = job.estimate.duration * job.spec->requested().rate;
  double done = job.reported_work;
  if (job.running) {
    const Seconds from = std::max(job.reported_at, job.running_since + restart_);
    done += std::max(0.0, state_.now - from) * job.observed_rate;
  }
  // A job that outlives what was believed is given another minute, again and again.
  const double rest = job.running ? 60 * job.observed_rate : 1e-9 * total;
  return total - done > 1e-9 * total ? total - done : rest;
}

Seconds PlanSearch::overhead_left(const JobState& job) const {
  if (!job.running) return restart_;
  return std::max(0.0, job.running_since + restart_ - state_.now);
}

double PlanSearch::speed(const JobState& job, const Allocation& on) const {
  const Configuration& c = job.spec->menu->configurations[on.configuration];
  const double rate = c.rate * c.efficiency;
  if (c.type != kAnyType) return rate;
  const Cluster& cluster = state_.cluster();
  return rate * cluster.types[cluster.type_of(on.devices.front().device)].speed;
}

std::vector<std::uint32_t> PlanSearch::shares(const JobState& job) const {
  std::vector<std::uint32_t> out = {job.spec->requested().devices};
  if (job.spec->elastic) {
    for (const Configuration& c : job.spec->menu->configurations) {
      if (leaves_no_gap(state_.cluster(), c)) out.push_back(c.devices);
    }
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

// Configurations of at most that many devices, fastest first.
std::vector<std::uint16_t> PlanSearch::offers(const JobState& job, std::uint32_t share) const {
  const std::vector<Configuration>& menu = job.spec->menu->configurations;
  std::vector<std::uint16_t> out;
  for (std::uint16_t i = 0; i < menu.size(); ++i) {
    const bool stretches = job.spec->elastic && leaves_no_gap(state_.cluster(), menu[i]);
    if (!stretches && !runs_as_asked(*job.spec, i)) continue;
    if (menu[i].devices <= share && menu[i].rate > 0) out.push_back(i);
  }
  std::stable_sort(out.begin(), out.end(), [&](std::uint16_t a, std::uint16_t b) {
    return menu[a].rate * menu[a].efficiency > menu[b].rate * menu[b].efficiency;
  });
  return out;
}

bool PlanSearch::find(const Calendar& others, const JobState& job,
                      const std::vector<std::uint16_t>& offers, const Booking& when,
                      Stay& out) const {
  const State then = others.taken_between(when.from, when.to);
  for (std::uint16_t configuration : offers) {
    if (!place_.place(then, job, configuration, 1, out.on)) continue;
    out.speed = speed(job, out.on);
    out.overhead = restart_;
    if (out.speed > 0) return true;
  }
  return false;
}

bool PlanSearch::fill(const Calendar& others, JobId id, std::uint32_t share, Seconds latest_end,
                      Plan& out) const {
  const JobState& job = state_.job(id);
  if (!job.spec->preemptible) return fill_firm(others, id, share, latest_end, out);
  out.clear();
  const std::vector<std::uint16_t> offered = offers(job, share);
  if (offered.empty()) return false;
  const std::vector<Seconds> times =
      turns(others, std::max(state_.now, job.held_back_until), latest_end);
  double left = work_left(job);
  Stay stay;
  if (job.phase == Phase::kPlaced && speed(job, job.held) > 0) {
    stay = {job.held, speed(job, job.held), overhead_left(job)};
  }
  for (size_t i = 0; i < times.size(); ++i) {
    const Booking when{id, stay.on, times[i], i + 1 < times.size() ? times[i + 1] : kNever};
    const Seconds length = when.to - when.from;
    if (!stay.on.empty() && (stay.on.devices.size() > share || others.clashes(when))) stay = {};
    const auto needs = [&](const Stay& s) { return s.overhead + left / s.speed + kElasticPad; };
    const auto does = [&](const Stay& s) { return s.speed * (length - s.overhead); };
    Stay other;
    const bool at_best = !stay.on.empty() && stay.on.configuration == offered.front();
    if (!at_best && find(others, job, offered, when, other)) {
      const bool ends = !stay.on.empty() && std::min(needs(stay), needs(other)) <= length;
      const bool better = ends ? needs(other) < needs(stay) : does(other) > does(stay);
      if (stay.on.empty() || better) stay = std::move(other);
    }
    if (stay.on.empty()) continue;
    if (out.empty() || out.back().to != when.from || out.back().allocation != stay.on) {
      out.push_back({id, stay.on, when.from, when.to});
    }
    out.back().to = when.to;
    if (needs(stay) <= length) {
      out.back().to = when.from + needs(stay);
      return out.back().to <= latest_end;
    }
    left -= std::max(0.0, does(stay));
    stay.overhead = std::max(0.0, stay.overhead - length);
  }
  return false;
}

// A job that may not be stopped stays where it begins.
bool PlanSearch::fill_firm(const Calendar& others, JobId id, std::uint32_t share,
                           Seconds latest_end, Plan& out) const {
  const JobState& job = state_.job(id);
  out.clear();
  if (job.phase == Phase::kPlaced) {
    const Seconds length = overhead_left(job) + work_left(job) / speed(job, job.held) + kElasticPad;
    out.push_back({id, job.held, state_.now, state_.now + length});
    return out.back().to <= latest_end;
  }
  for (std::uint16_t configuration : offers(job, share)) {
    const Configuration& c = job.spec->menu->configurations[configuration];
    double slowest = 1;
    if (c.type == kAnyType) {
      for (const DeviceType& type : state_.cluster().types) slowest = std::min(slowest, type.speed);
    }
    const Seconds length =
        restart_ + work_left(job) / (c.rate * c.efficiency * std::max(slowest, 1e-9)) + kElasticPad;
    const Seconds earliest = std::max(state_.now, job.held_back_until);
    Booking found;
    if (!others.find(id, {earliest, length, length, latest_end, configuration}, found)) continue;
    out.push_back(std::move(found));
    return true;
  }
  return false;
}

bool PlanSearch::least(const Calendar& others, JobId id, Plan& out) const {
  const JobState& job = state_.job(id);
  for (std::uint32_t share : shares(job)) {
    if (fill(others, id, share, job.spec->deadline, out)) return true;
  }
  return false;
}

Seconds PlanSearch::end_of(JobId id, const Plan& plan) const {
  const JobState& job = state_.job(id);
  double left = work_left(job);
  const Allocation* on = job.phase == Phase::kPlaced ? &job.held : nullptr;
  Seconds overhead = overhead_left(job), at = state_.now;
  for (const Booking& stay : plan) {
    const bool goes_on = on != nullptr && *on == stay.allocation && stay.from <= at;
    if (!goes_on) overhead = restart_;
    at = std::max(at, stay.from);
    const double rate = speed(job, stay.allocation);
    if (at + overhead + left / rate <= stay.to) return at + overhead + left / rate;
    left -= rate * std::max(0.0, stay.to - at - overhead);
    overhead = std::max(0.0, overhead - (stay.to - at));
    at = stay.to;
    on = &stay.allocation;
  }
  return kNever;
}

double PlanSearch::device_seconds(const Plan& plan) {
  double sum = 0;
  for (const Booking& stay : plan) sum += (stay.to - stay.from) * stay.allocation.device_count();
  return sum;
}

}  // namespace weft
