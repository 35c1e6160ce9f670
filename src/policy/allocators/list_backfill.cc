// EASY backfilling (Lifka, "The ANL/IBM SP scheduling system", 1995): the first job that does not
// fit gets a reservation at the believed time when enough devices will be free; a later job may
// start if it is believed to end before then, or needs only devices the reservation leaves over.
// Where estimates are missing the time is not known, and nobody may pass on devices the head could
// use.
#include <algorithm>

#include "policy/allocators/list_walk.h"

namespace weft {
namespace {

struct Reservation {
  Seconds at = 0;    // whoever ends by then may pass
  double spare = 0;  // devices free at `at` beyond what the reserved job takes
};
// Not even all devices in service suffice for the head, or services hold them: what runs does not
// delay it.
constexpr Reservation kOutOfReach{kNever, kNever};

double devices_asked(const JobState& job) {
  const Configuration& c = job.spec->requested();
  return static_cast<double>(c.devices) * c.milli / kWhole * job.spec->min_replicas;
}

// Counts devices, not shapes: a reservation may come too early when free devices are scattered.
Reservation reserve(const State& state, const JobState& head) {
  const TypeId type = head.spec->requested().type;
  double free =
      type == kAnyType ? state.ledger.free_whole_total() : state.ledger.free_whole_of(type);
  std::vector<std::pair<Seconds, double>> ends;
  for (JobId id : state.active) {
    const JobState& job = state.job(id);
    // A service is not believed to end at all.
    if (job.phase != Phase::kPlaced || job.spec->kind == WorkloadKind::kService) continue;
    if (type != kAnyType && state.cluster().type_of(job.held.devices.front().device) != type) {
      continue;
    }
    ends.emplace_back(state.now + job.remaining_s(state.now), job.held.device_count());
  }
  std::sort(ends.begin(), ends.end());
  const double needed = devices_asked(head);
  for (const auto& [end, devices] : ends) {
    free += devices;
    if (free < needed) continue;
    // At an unknown end the head may start at any time from now on: nothing can be spared.
    return end < kNever ? Reservation{std::max(end, state.now), free - needed} : Reservation{};
  }
  return kOutOfReach;
}

// Both may run on devices of one type.
bool compete(const JobState& a, const JobState& b) {
  return (types_as_asked(*a.spec) & types_as_asked(*b.spec)) != 0;
}

}  // namespace

void ListWalk::walk_easy() {
  const std::vector<bool> open(memory_.waiting.size(), false);
  Entry head;
  Allocation allocation;
  while (true) {
    if (!next_head(open, head)) return;
    if (!place_or_evict(state_.job(head.id), head, policy_.options_.preempt, allocation)) break;
    start(head.id, std::move(allocation));
  }
  if (state_.ledger.free_whole_total() == 0) return;
  Reservation reservation = reserve(state_, state_.job(head.id));
  std::vector<Entry> others;
  for (const std::set<Entry>& queue : memory_.waiting) {
    others.insert(others.end(), queue.begin(), queue.end());
  }
  std::sort(others.begin(), others.end());
  std::vector<bool> closed(memory_.waiting.size(), false);
  for (const Entry& entry : others) {
    if (state_.ledger.free_whole_total() == 0) return;
    const JobState& job = state_.job(entry.id);
    if (entry.id == head.id || closed[memory_.shape[entry.id]]) continue;
    const bool ends_before = !compete(job, state_.job(head.id)) ||
                             state_.now + job.remaining_s(state_.now) <= reservation.at;
    const double devices = devices_asked(job);
    if (!ends_before && devices > reservation.spare) continue;
    if (!place_or_evict(job, entry, false, allocation)) {
      // Before a closure it is a matter of the job's length, too.
      closed[memory_.shape[entry.id]] = state_.closures.empty();
      continue;
    }
    if (!ends_before) reservation.spare -= devices;
    start(entry.id, std::move(allocation));
  }
}

}  // namespace weft
