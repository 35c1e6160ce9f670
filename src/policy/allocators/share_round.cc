#include "policy/allocators/share_round.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "policy/services.h"

namespace weft {

void ShareRound::fold(const Change& change) {
  for (JobId id : change.arrived) {
    if (state_.job(id).spec->kind == WorkloadKind::kService) continue;
    Row& row = memory_.rows[id];
    row.received_s.assign(types(), policy_.options_.round / 2);
    row.owed_s.assign(types(), 0);
    memory_.stale = true;
  }
  for (JobId id : change.ended) memory_.stale |= memory_.rows.erase(id) > 0;
  memory_.stale |= change.nodes;
}

void ShareRound::account() {
  for (auto& [id, row] : memory_.rows) {
    const Seconds run = state_.job(id).attained_run_s(state_.now);
    if (row.type != kAnyType) row.received_s[row.type] += run - row.run_seen;
    row.run_seen = run;
  }
}

// Devices of the type that services do not hold.
double ShareRound::capacity(TypeId type) const {
  double devices = state_.ledger.in_service(type);
  for (JobId id : state_.active) {
    const JobState& job = state_.job(id);
    if (job.spec->kind != WorkloadKind::kService || job.phase != Phase::kPlaced) continue;
    if (state_.cluster().type_of(job.held.devices.front().device) == type) {
      devices -= job.held.device_count();
    }
  }
  return std::max(0.0, devices);
}

void ShareRound::compute_shares() {
  const bool due = state_.now - memory_.computed_at >= policy_.options_.refresh;
  if (!memory_.stale || (memory_.computed && !due)) return;
  std::vector<JobId> jobs;
  for (auto& [id, row] : memory_.rows) {
    jobs.push_back(id);
    for (size_t t = 0; t < types(); ++t) {
      const double promised =
          row.fraction.empty() ? 0 : row.fraction[t] * (state_.now - memory_.computed_at);
      row.owed_s[t] += promised - (row.received_s[t] - policy_.options_.round / 2);
      row.received_s[t] = policy_.options_.round / 2;
    }
  }
  memory_.computed_at = state_.now;
  memory_.computed = !jobs.empty();
  memory_.stale = false;
  if (jobs.empty()) return;
  const std::vector<double> fraction = solve(jobs);
  for (size_t i = 0; i < jobs.size(); ++i) {
    const auto row = fraction.begin() + static_cast<std::ptrdiff_t>(i * types());
    memory_.rows[jobs[i]].fraction.assign(row, row + static_cast<std::ptrdiff_t>(types()));
  }
}

// Serves the types in turn; on each, jobs by the ratio of what they should to what they did get.
std::vector<ShareRound::Pick> ShareRound::pick() {
  std::vector<TypeId> order(types());
  std::iota(order.begin(), order.end(), TypeId{0});
  if (!policy_.options_.aware) {
    for (size_t i = order.size(); i-- > 1;) std::swap(order[i], order[memory_.order.below(i + 1)]);
  }
  struct Candidate {
    double priority, owed, fraction;
    JobId job;
    double devices;
    bool operator<(const Candidate& other) const {
      return std::tie(other.priority, other.owed, other.fraction, job) <
             std::tie(priority, owed, fraction, other.job);
    }
  };
  std::set<JobId> taken;
  std::vector<Pick> picks;
  for (TypeId type : order) {
    std::vector<Candidate> candidates;
    for (const auto& [id, row] : memory_.rows) {
      const JobState& job = state_.job(id);
      if (row.fraction.empty() || taken.contains(id) || job.held_back_until > state_.now) continue;
      if (believed_rate(state_.cluster(), *job.spec, type) <= 0) continue;
      const Configuration& c = job.spec->requested();
      candidates.push_back({row.fraction[type] / row.received_s[type], row.owed_s[type],
                            row.fraction[type], id,
                            static_cast<double>(c.devices) * c.milli / kWhole});
    }
    std::sort(candidates.begin(), candidates.end());
    double left = capacity(type);
    for (const Candidate& candidate : candidates) {
      if (left <= 0) break;
      if (candidate.devices > left + 1e-9) continue;
      left -= candidate.devices;
      taken.insert(candidate.job);
      picks.push_back({candidate.job, type});
    }
  }
  return picks;
}

void ShareRound::run() {
  settle(pick());
  for (auto& [id, row] : memory_.rows) {
    const JobState& job = state_.job(id);
    row.type = job.phase == Phase::kPlaced
                   ? state_.cluster().type_of(job.held.devices.front().device)
                   : kAnyType;
  }
}

// Stops who is not picked or picked for another type, lets services grow, then places the rest.
void ShareRound::settle(const std::vector<Pick>& picks) {
  std::vector<std::vector<JobId>> by_type(types());
  std::map<JobId, TypeId> picked;
  for (const Pick& pick : picks) {
    by_type[pick.type].push_back(pick.job);
    picked[pick.job] = pick.type;
  }
  for (auto& [id, row] : memory_.rows) {
    const JobState& job = state_.job(id);
    if (job.phase != Phase::kPlaced) continue;
    const auto at = picked.find(id);
    const TypeId held = state_.cluster().type_of(job.held.devices.front().device);
    if (at == picked.end() || at->second != held) draft_.stop(id);
  }
  serve_services(draft_, policy_.place_);
  for (TypeId type = 0; type < types(); ++type) settle_type(type, std::move(by_type[type]));
}

// Placed jobs stay where they are if the others fit around them; else all are placed anew, widest
// first, which packs gangs whose sizes divide each other without loss.
void ShareRound::settle_type(TypeId type, std::vector<JobId> jobs) {
  std::stable_sort(jobs.begin(), jobs.end(), [&](JobId a, JobId b) {
    return state_.job(a).spec->requested().devices > state_.job(b).spec->requested().devices;
  });
  const auto place_all = [&](bool last_try) {
    bool all = true;
    for (JobId id : jobs) {
      const JobState& job = state_.job(id);
      if (job.phase == Phase::kPlaced) continue;
      const auto c = static_cast<std::uint16_t>(configuration_on(*job.spec, type));
      Allocation allocation;
      if (policy_.place_.place_on(type, state_, job, c, last_try, allocation)) {
        draft_.start(id, std::move(allocation));
      } else {
        all = false;
      }
    }
    return all;
  };
  if (place_all(false)) return;
  for (JobId id : jobs) {
    if (state_.job(id).phase == Phase::kPlaced) draft_.stop(id);
  }
  if (!place_all(false)) place_all(true);
}

}  // namespace weft
