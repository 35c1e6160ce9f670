// Pairs of jobs that share their devices in turns of a round: found by the solver, or by trial.
#include <algorithm>

#include "policy/allocators/share_round.h"
#include "policy/shares/shares.h"
#include "policy/solve/packed_share.h"

namespace weft {

// Gangs of whole devices, equally many, whose memories fit some type together.
bool ShareRound::may_pair(JobId a, JobId b) const {
  const Submission& one = *state_.job(a).spec;
  const Submission& two = *state_.job(b).spec;
  if (one.requested().devices != two.requested().devices) return false;
  if (one.requested().milli != kWhole || two.requested().milli != kWhole) return false;
  for (TypeId type = 0; type < types(); ++type) {
    if (pair_fits(type, a, b)) return true;
  }
  return false;
}

bool ShareRound::pair_fits(TypeId type, JobId a, JobId b) const {
  return measured_pair(state_, type, state_.job(a).spec->model, state_.job(b).spec->model,
                       policy_.options_.device_memory) != nullptr;
}

// The jobs' models, numbered as they come, and how fast each runs beside each.
PackedProblem ShareRound::packed_problem(const ShareProblem& problem,
                                         const std::vector<JobId>& jobs) const {
  PackedProblem packed;
  packed.alone = problem;
  std::map<ModelId, int> number;
  std::vector<ModelId> models;
  for (JobId id : jobs) {
    const Submission& spec = *state_.job(id).spec;
    const bool shares = spec.model != kNoModel && spec.requested().milli == kWhole;
    if (!shares) {
      packed.model.push_back(-1);
      continue;
    }
    const auto [at, fresh] = number.emplace(spec.model, static_cast<int>(models.size()));
    if (fresh) models.push_back(spec.model);
    packed.model.push_back(at->second);
  }
  packed.models = models.size();
  for (TypeId type = 0; type < types(); ++type) {
    for (ModelId a : models) {
      for (ModelId b : models) {
        const PairSpeed* pair = measured_pair(state_, type, a, b, policy_.options_.device_memory);
        packed.speed.push_back(pair == nullptr ? 0 : std::min(1.0, pair->first));
      }
    }
  }
  return packed;
}

// Gavel (OSDI 2020), space sharing: pairs are rows of the allocation beside the jobs alone.
ShareRound::Fractions ShareRound::solve_pairs(const ShareProblem& problem,
                                              const std::vector<JobId>& jobs) {
  const PackedResult shares = share_packed(packed_problem(problem, jobs), needs(problem, jobs));
  Fractions fractions;
  for (size_t i = 0; i < jobs.size(); ++i) {
    const auto row = shares.fraction.begin() + static_cast<std::ptrdiff_t>(i * types());
    fractions[{jobs[i]}].assign(row, row + static_cast<std::ptrdiff_t>(types()));
  }
  for (const PairShare& pair : shares.pairs) {
    fractions[{jobs[pair.first], jobs[pair.second]}] = pair.fraction;
  }
  return fractions;
}

// Gandiva (OSDI 2018), packing: two jobs are put together to see what it gives, and taken apart if
// their speeds together, each as a part of its speed alone, do not exceed one job's. The speeds are
// those that the jobs report.
void ShareRound::judge_trials() {
  std::vector<ShareUnit> lost;
  for (const auto& [id, other] : memory_.partner) {
    const ShareUnit unit{id, other};
    if (other < id || memory_.rows.at(id).unit != unit) continue;
    double gain = 0;
    bool known = true;
    for (JobId member : {id, other}) {
      const JobState& job = state_.job(member);
      const TypeId type = memory_.rows.at(member).type;
      const double alone = believed_rate(state_.cluster(), *job.spec, type);
      known &= job.running && job.observed_rate > 0 && alone > 0;
      if (known) gain += job.observed_rate / alone;
    }
    if (known && gain <= 1) lost.push_back(unit);
  }
  for (const ShareUnit& unit : lost) {
    memory_.partner.erase(unit.first);
    memory_.partner.erase(unit.second);
    memory_.failed.insert(unit);
    memory_.stale = true;
    memory_.computed = false;  // a loss is not kept up until the next regular computation
  }
}

// Every unit has the same part of every type. Jobs are paired only while they ask for more devices
// than there are; where a pair does not fit a type, its jobs take turns there.
ShareRound::Fractions ShareRound::try_pairs(const ShareProblem& problem,
                                            const std::vector<JobId>& jobs) {
  double asked = 0, there = 0;
  for (const double scale : problem.scale) asked += scale;
  for (const double capacity : problem.capacity) there += capacity;
  const bool crowded = asked > there;
  if (crowded) pair_at_random(jobs);
  std::vector<ShareUnit> units;
  ShareProblem each{problem.capacity, {}, {}};
  for (size_t i = 0; i < jobs.size(); ++i) {
    const auto partner = memory_.partner.find(jobs[i]);
    const bool paired = crowded && partner != memory_.partner.end();
    if (paired && partner->second < jobs[i]) continue;
    units.push_back(paired ? ShareUnit{jobs[i], partner->second} : ShareUnit{jobs[i]});
    each.scale.push_back(problem.scale[i]);
  }
  const std::vector<double> part = isolated_fractions(each);
  Fractions fractions;
  for (size_t i = 0; i < units.size(); ++i) {
    for (TypeId type = 0; type < types(); ++type) {
      const double fraction = part[i * types() + type];
      const auto give = [&](const ShareUnit& unit, double time) {
        fractions[unit].resize(types());
        fractions[unit][type] = time;
      };
      if (!units[i].is_pair() || pair_fits(type, units[i].first, units[i].second)) {
        give(units[i], fraction);
      } else {
        give({units[i].first}, fraction / 2);
        give({units[i].second}, fraction / 2);
      }
    }
  }
  return fractions;
}

void ShareRound::pair_at_random(const std::vector<JobId>& jobs) {
  std::vector<JobId> single;
  for (JobId id : jobs) {
    if (!memory_.partner.contains(id)) single.push_back(id);
  }
  for (size_t i = single.size(); i-- > 1;) {
    std::swap(single[i], single[memory_.trials.below(i + 1)]);
  }
  for (size_t i = 0; i < single.size(); ++i) {
    for (size_t j = i + 1; j < single.size() && !memory_.partner.contains(single[i]); ++j) {
      const auto [low, high] = std::minmax(single[i], single[j]);
      if (memory_.partner.contains(single[j]) || memory_.failed.contains({low, high})) continue;
      if (!may_pair(low, high)) continue;
      memory_.partner[low] = high;
      memory_.partner[high] = low;
    }
  }
}

}  // namespace weft
