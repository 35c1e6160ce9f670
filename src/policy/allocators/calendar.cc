#include "policy/allocators/calendar.h"

#include <algorithm>

#include "policy/allocators/plan_walk.h"

namespace weft {

void take_rest(Ledger& ledger, const Allocation& allocation) {
  Allocation rest;
  for (const DeviceShare& share : allocation.devices) {
    if (ledger.used_milli(share.device) == 0) rest.devices.push_back({.device = share.device});
  }
  rest.hosts = allocation.hosts;
  ledger.take(0, rest);
}

State Calendar::taken_between(Seconds from, Seconds to) const {
  State then(state_.cluster());
  then.now = state_.now;
  then.ledger.copy_outages(state_.ledger);
  for (const Booking& booking : bookings_) {
    if (booking.from < to && booking.to > from) take_rest(then.ledger, booking.allocation);
  }
  return then;
}

double Calendar::booked_at(Seconds at) const {
  double devices = 0;
  for (const Booking& booking : bookings_) {
    if (booking.from <= at && at < booking.to) devices += booking.allocation.device_count();
  }
  return devices;
}

bool Calendar::find(JobId id, const Window& window, Booking& out) const {
  const JobState& job = state_.job(id);
  std::vector<Seconds> times = {window.earliest};
  for (const Booking& booking : bookings_) {
    if (booking.to > window.earliest && booking.to < kNever) times.push_back(booking.to);
  }
  std::sort(times.begin(), times.end());
  times.erase(std::unique(times.begin(), times.end()), times.end());
  const Configuration& c = job.spec->menu->configurations[window.configuration];
  const double needed = static_cast<double>(c.devices) * c.milli / kWhole * job.spec->min_replicas;
  const double all = state_.cluster().device_count();
  for (Seconds at : times) {
    if (at + window.length > window.latest_end) return false;
    if (booked_at(at) + needed > all + 1e-9) continue;
    const State then = taken_between(at, at + window.hold);
    if (!place_.place(then, job, window.configuration, job.spec->min_replicas, out.allocation)) {
      continue;
    }
    out.job = id;
    out.from = at;
    out.to = at + window.hold;
    return true;
  }
  return false;
}

bool Calendar::clashes(const Booking& booking) const {
  return std::any_of(bookings_.begin(), bookings_.end(), [&](const Booking& other) {
    return other.job != booking.job && other.from < booking.to && other.to > booking.from &&
           in_each_others_way(other.allocation, booking.allocation);
  });
}

}  // namespace weft
