#include "policy/allocators/share_round.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "policy/services.h"

namespace weft {

void ShareRound::open_unit(const ShareUnit& unit) {
  const auto [at, fresh] = memory_.units.try_emplace(unit);
  if (!fresh) return;
  at->second.received_s.assign(types(), policy_.options_.round / 2);
  at->second.owed_s.assign(types(), 0);
}

// Whoever was to share time with the job has that time alone from now on.
void ShareRound::forget(JobId id) {
  if (memory_.rows.erase(id) == 0) return;
  memory_.stale = true;
  memory_.units.erase({id});
  if (policy_.options_.pairs == TimeShareOptions::Pairs::kNone) return;
  for (auto at = memory_.units.begin(); at != memory_.units.end();) {
    const ShareUnit unit = at->first;
    if (!unit.is_pair() || !unit.holds(id)) {
      ++at;
      continue;
    }
    UnitRow& alone = memory_.units.at({unit.first == id ? unit.second : unit.first});
    for (size_t t = 0; t < types(); ++t) alone.fraction[t] += at->second.fraction[t];
    at = memory_.units.erase(at);
  }
  if (const auto partner = memory_.partner.find(id); partner != memory_.partner.end()) {
    memory_.partner.erase(partner->second);
    memory_.partner.erase(id);
  }
  std::erase_if(memory_.failed, [&](const ShareUnit& unit) { return unit.holds(id); });
}

void ShareRound::fold(const Change& change) {
  for (JobId id : change.arrived) {
    if (state_.job(id).spec->kind == WorkloadKind::kService) continue;
    memory_.rows[id].unit = {id};
    open_unit({id});
    memory_.stale = true;
  }
  for (JobId id : change.ended) forget(id);
  memory_.stale |= change.nodes;
}

void ShareRound::account() {
  for (auto& [id, row] : memory_.rows) {
    const Seconds run = state_.job(id).attained_run_s(state_.now);
    auto unit = memory_.units.find(row.unit);
    if (unit == memory_.units.end()) unit = memory_.units.find({id});
    if (row.type != kAnyType && unit->first.first == id) {
      unit->second.received_s[row.type] += run - row.run_seen;
    }
    row.run_seen = run;
  }
  if (policy_.options_.pairs == TimeShareOptions::Pairs::kTrial) judge_trials();
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
  for (const auto& [id, row] : memory_.rows) jobs.push_back(id);
  for (auto& [unit, row] : memory_.units) {
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
  Fractions fractions = solve(jobs);
  std::erase_if(memory_.units, [&](const auto& entry) {
    return entry.first.is_pair() && !fractions.contains(entry.first);
  });
  for (auto& [unit, row] : memory_.units) row.fraction.assign(types(), 0);
  for (auto& [unit, fraction] : fractions) {
    open_unit(unit);
    memory_.units[unit].fraction = std::move(fraction);
  }
}

bool ShareRound::is_candidate(const ShareUnit& unit, const UnitRow& row, TypeId type,
                              const std::set<JobId>& taken) const {
  if (row.fraction.empty() || (unit.is_pair() && row.fraction[type] <= 0)) return false;
  for (JobId id : {unit.first, unit.second}) {
    if (id == kNoJob) continue;
    const JobState& job = state_.job(id);
    if (taken.contains(id) || job.held_back_until > state_.now) return false;
    if (believed_rate(state_.cluster(), *job.spec, type) <= 0) return false;
  }
  return true;
}

// Serves the types in turn; on each, units by the ratio of what they should to what they did get.
std::vector<ShareRound::Pick> ShareRound::pick() {
  std::vector<TypeId> order(types());
  std::iota(order.begin(), order.end(), TypeId{0});
  if (!policy_.options_.aware) {
    for (size_t i = order.size(); i-- > 1;) std::swap(order[i], order[memory_.order.below(i + 1)]);
  }
  std::set<JobId> taken;
  std::vector<Pick> picks;
  for (TypeId type : order) {
    std::vector<Candidate> candidates;
    for (const auto& [unit, row] : memory_.units) {
      if (!is_candidate(unit, row, type, taken)) continue;
      const Configuration& c = state_.job(unit.first).spec->requested();
      candidates.push_back({row.fraction[type] / row.received_s[type], row.owed_s[type],
                            row.fraction[type], unit,
                            static_cast<double>(c.devices) * c.milli / kWhole});
    }
    std::sort(candidates.begin(), candidates.end());
    double left = capacity(type);
    for (const Candidate& candidate : candidates) {
      if (left <= 0) break;
      const ShareUnit& unit = candidate.unit;
      if (candidate.devices > left + 1e-9) continue;
      if (taken.contains(unit.first) || taken.contains(unit.second)) continue;
      left -= candidate.devices;
      taken.insert(unit.first);
      if (unit.is_pair()) taken.insert(unit.second);
      picks.push_back({unit, type});
    }
  }
  return picks;
}

void ShareRound::run() {
  const std::vector<Pick> picks = pick();
  settle(picks);
  for (auto& [id, row] : memory_.rows) {
    const JobState& job = state_.job(id);
    row.unit = {id};
    row.type = job.phase == Phase::kPlaced
                   ? state_.cluster().type_of(job.held.devices.front().device)
                   : kAnyType;
  }
  for (const Pick& pick : picks) {
    if (!pick.unit.is_pair() || !sits_with(pick.unit.first, pick.unit.second)) continue;
    memory_.rows[pick.unit.first].unit = memory_.rows[pick.unit.second].unit = pick.unit;
  }
}

}  // namespace weft
