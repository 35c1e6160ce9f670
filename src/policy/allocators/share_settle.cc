// From picks to placements: who stays, who leaves, and who sits beside whom.
#include <algorithm>

#include "policy/allocators/share_round.h"
#include "policy/services.h"
#include "policy/share.h"

namespace weft {

bool ShareRound::sits_with(JobId a, JobId b) const {
  const JobState& one = state_.job(a);
  const JobState& two = state_.job(b);
  return one.phase == Phase::kPlaced && two.phase == Phase::kPlaced &&
         std::equal(one.held.devices.begin(), one.held.devices.end(), two.held.devices.begin(),
                    two.held.devices.end(), [](const DeviceShare& x, const DeviceShare& y) {
                      return x.device == y.device;
                    });
}

void ShareRound::stop_all(const ShareUnit& unit) {
  for (JobId id : {unit.first, unit.second}) {
    if (id != kNoJob && state_.job(id).phase == Phase::kPlaced) draft_.stop(id);
  }
}

// Stops who is not picked or picked for another type; of a pair, whoever is not where its partner
// stays; and of two that sit together but shall no longer, the one that was picked later.
void ShareRound::stop_leavers(const std::vector<Pick>& picks) {
  std::map<JobId, TypeId> picked;
  for (const Pick& pick : picks) {
    picked[pick.unit.first] = pick.type;
    if (pick.unit.is_pair()) picked[pick.unit.second] = pick.type;
  }
  for (auto& [id, row] : memory_.rows) {
    const JobState& job = state_.job(id);
    if (job.phase != Phase::kPlaced) continue;
    const auto at = picked.find(id);
    const TypeId held = state_.cluster().type_of(job.held.devices.front().device);
    if (at == picked.end() || at->second != held) draft_.stop(id);
  }
  if (policy_.options_.pairs == TimeShareOptions::Pairs::kNone) return;
  std::set<DeviceId> claimed;  // first devices of those who stay and held halves
  for (const Pick& pick : picks) {
    JobId host = kNoJob;
    for (JobId id : {pick.unit.first, pick.unit.second}) {
      if (id == kNoJob || state_.job(id).phase != Phase::kPlaced) continue;
      if (host != kNoJob && sits_with(host, id)) continue;
      const bool whole =
          state_.job(id).held.devices.front().milli == state_.job(id).spec->requested().milli;
      const bool free = whole || claimed.insert(state_.job(id).held.devices.front().device).second;
      if (host == kNoJob && free) {
        host = id;
      } else {
        draft_.stop(id);
      }
    }
  }
}

// Whoever stays without its partner has whole devices again.
void ShareRound::widen(const ShareUnit& unit) {
  if (unit.is_pair() && sits_with(unit.first, unit.second)) return;
  for (JobId id : {unit.first, unit.second}) {
    if (id == kNoJob || state_.job(id).phase != Phase::kPlaced) continue;
    const JobState& job = state_.job(id);
    const auto asked = static_cast<std::uint16_t>(job.spec->requested().milli);
    if (job.held.devices.front().milli != asked) draft_.move(id, with_share(job.held, asked));
  }
}

// Stops leavers, lets services grow, then places the rest.
void ShareRound::settle(const std::vector<Pick>& picks) {
  stop_leavers(picks);
  if (policy_.options_.pairs != TimeShareOptions::Pairs::kNone) {
    for (const Pick& pick : picks) widen(pick.unit);
  }
  std::vector<std::vector<ShareUnit>> by_type(types());
  for (const Pick& pick : picks) by_type[pick.type].push_back(pick.unit);
  serve_services(draft_, policy_.place_);
  for (TypeId type = 0; type < types(); ++type) settle_type(type, std::move(by_type[type]));
}

// The guest gets half of the host's devices, if the nodes have what else it needs.
void ShareRound::seat_beside(JobId host, JobId guest, TypeId type) {
  const JobState& other = state_.job(guest);
  const auto index = static_cast<std::uint16_t>(configuration_on(*other.spec, type));
  const Configuration& c = other.spec->menu->configurations[index];
  if (!fits_beside(state_, other, c, state_.job(host).held)) return;
  draft_.move(host, with_share(state_.job(host).held, kHalf));
  Allocation allocation = state_.job(host).held;
  allocation.configuration = index;
  for (DeviceShare& share : allocation.devices) share.memory = c.device_memory;
  fill_hosts(state_.cluster(), c, allocation);
  draft_.start(guest, std::move(allocation));
}

bool ShareRound::place_unit(const ShareUnit& unit, TypeId type, bool last_try) {
  if (unit.is_pair() && sits_with(unit.first, unit.second)) return true;
  JobId host = unit.first;
  if (unit.is_pair() && state_.job(unit.second).phase == Phase::kPlaced) host = unit.second;
  const JobState& job = state_.job(host);
  if (job.phase == Phase::kWaiting) {
    Allocation allocation;
    const auto c = static_cast<std::uint16_t>(configuration_on(*job.spec, type));
    if (!policy_.place_.place_on(type, state_, job, c, last_try, allocation)) return false;
    draft_.start(host, std::move(allocation));
  }
  if (unit.is_pair()) seat_beside(host, unit.first == host ? unit.second : unit.first, type);
  return true;
}

// Placed jobs stay where they are if the others fit around them; else all are placed anew, widest
// first, which packs gangs whose sizes divide each other without loss.
void ShareRound::settle_type(TypeId type, std::vector<ShareUnit> units) {
  std::stable_sort(units.begin(), units.end(), [&](const ShareUnit& a, const ShareUnit& b) {
    return devices_of(a) > devices_of(b);
  });
  const auto place_all = [&](bool last_try) {
    bool all = true;
    for (const ShareUnit& unit : units) all &= place_unit(unit, type, last_try);
    return all;
  };
  if (place_all(false)) return;
  for (const ShareUnit& unit : units) stop_all(unit);
  if (!place_all(false)) place_all(true);
}

}  // namespace weft
