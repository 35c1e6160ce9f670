#include "policy/allocators/market.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <queue>

#include "policy/allocators/auction.h"
#include "policy/allocators/plan_walk.h"
#include "policy/allocators/regimes.h"
#include "policy/explain.h"

namespace weft {
namespace {

struct MarketMemory : PolicyMemory {
  Seconds round_end = 0;
  std::map<JobId, Regimes> regimes;  // of active jobs that change their speed
};

// Accounts for what the jobs reported.
void observe(const State& state, const Change& change, std::map<JobId, Regimes>& regimes) {
  for (JobId id : change.ended) regimes.erase(id);
  for (JobId id : change.arrived) {
    const Submission& spec = *state.job(id).spec;
    if (spec.adaptation == Adaptation::kNone || spec.declared_work <= 0) continue;
    if (spec.requested().rate > 0) regimes[id];
  }
  for (auto& [id, seen] : regimes) seen.observe(state.job(id), state.now);
}

struct Buyer {
  JobId job = kNoJob;
  double devices = 1;
  double weight = 1;  // rho to the power of the fairness
  Seconds ran = 0, left = 0;
  double rounds = 0;  // dealt so far
  double first = 0;   // gain of the first round
  bool placed = false;
};

// Believed seconds left: as its regimes foretell, else at the speed last seen.
Seconds time_left(const State& state, const JobState& job, Seconds unknown_s,
                  const std::map<JobId, Regimes>& regimes) {
  if (const auto seen = regimes.find(job.id); seen != regimes.end()) {
    return seen->second.time_left(job, state.now);
  }
  if (!job.estimate.known()) return std::max(job.attained_run_s(state.now), unknown_s);
  const double rate = job.spec->requested().rate;
  const bool seen = job.observed_rate > 0 && rate > 0;
  return job.remaining_s(state.now) * (seen ? rate / job.observed_rate : 1);
}

// One round's market.
class Market {
 public:
  Market(const MarketOptions& options, const State& state, const std::map<JobId, Regimes>& regimes)
      : options_(options) {
    const double sharers = state.waiting + state.placed;
    for (JobId id : state.active) {
      const JobState& job = state.job(id);
      if (job.phase == Phase::kEnded) continue;
      Buyer buyer;
      buyer.job = id;
      buyer.devices = job.spec->requested().devices * job.spec->min_replicas;
      const double rho = finish_times(state, job, sharers, options.round).rho();
      buyer.weight = std::pow(std::max(rho, 1e-9), options.fairness);
      buyer.ran = job.attained_run_s(state.now);
      buyer.left = time_left(state, job, options.round, regimes);
      buyer.placed = job.phase == Phase::kPlaced;
      longest_ = std::max(longest_, buyer.left);
      buyers_.push_back(buyer);
    }
    for (Buyer& buyer : buyers_) buyer.first = gain(buyer);
    deal(options.window * state.cluster().device_count());
  }

  // Who runs next, best first. Jobs that were dealt no round come last and share one rank.
  std::vector<Choice> choices(const State& state, bool round_over) {
    std::stable_sort(buyers_.begin(), buyers_.end(), [](const Buyer& a, const Buyer& b) {
      if ((a.rounds > 0) != (b.rounds > 0)) return a.rounds > 0;
      if (a.first != b.first) return a.first > b.first;
      return a.placed && !b.placed;
    });
    if (!round_over) {
      std::stable_partition(buyers_.begin(), buyers_.end(),
                            [](const Buyer& b) { return b.placed; });
    }
    std::vector<Choice> all;
    for (const Buyer& buyer : buyers_) {
      const JobState& job = state.job(buyer.job);
      const double rank = !round_over        ? 0
                          : buyer.rounds > 0 ? static_cast<double>(all.size())
                                             : static_cast<double>(buyers_.size());
      all.push_back({buyer.job, buyer.placed ? job.held.configuration : std::uint16_t{0}, rank});
    }
    return all;
  }

 private:
  // Of one more round, for each device. Counting a round more than it ran keeps the gain of a job
  // without any progress finite.
  double gain(const Buyer& buyer) const {
    const Seconds had = buyer.ran + (buyer.rounds + 1) * options_.round;
    const double fair = buyer.weight * std::log1p(options_.round / had);
    const Seconds left = std::max(0.0, buyer.left - buyer.rounds * options_.round);
    const double efficient = longest_ > 0 ? options_.efficiency * left / longest_ : 0;
    return (fair + efficient) / buyer.devices;
  }

  void deal(double device_rounds) {
    // Equal gains go to the older job.
    std::priority_queue<std::pair<double, std::int64_t>> bids;
    for (size_t i = 0; i < buyers_.size(); ++i) {
      bids.emplace(buyers_[i].first, -static_cast<std::int64_t>(i));
    }
    while (!bids.empty() && device_rounds > 0) {
      Buyer& buyer = buyers_[static_cast<size_t>(-bids.top().second)];
      const std::int64_t key = bids.top().second;
      bids.pop();
      if (buyer.devices > device_rounds) continue;
      buyer.rounds += 1;
      device_rounds -= buyer.devices;
      const bool more =
          buyer.rounds < options_.window && buyer.rounds * options_.round < buyer.left - 1e-9;
      if (more) bids.emplace(gain(buyer), key);
    }
  }

  const MarketOptions& options_;
  std::vector<Buyer> buyers_;
  Seconds longest_ = 0;
};

void explain_market(Draft& draft, const Place& place, const std::vector<Choice>& choices,
                    Seconds round_end) {
  const JobState* const job = to_explain(draft.state());
  if (job == nullptr) return;
  std::uint32_t ahead = 0;
  for (const Choice& choice : choices) {
    if (choice.job == job->id) break;
    ahead += draft.state().job(choice.job).phase == Phase::kWaiting;
  }
  explain_waiting(
      draft, place, ahead,
      fmt::format("others gain more by the next rounds; they are dealt anew at {:.0f} s",
                  round_end));
}

}  // namespace

std::unique_ptr<PolicyMemory> MarketPolicy::new_memory() const {
  return std::make_unique<MarketMemory>();
}

void MarketPolicy::decide(Draft& draft, const Change& change, PolicyMemory& memory) const {
  const State& state = draft.state();
  Seconds& round_end = static_cast<MarketMemory&>(memory).round_end;
  std::map<JobId, Regimes>& regimes = static_cast<MarketMemory&>(memory).regimes;
  observe(state, change, regimes);
  const bool round_over = state.now >= round_end - 1e-9;
  if (round_over) round_end = state.now + options_.round;
  if (state.waiting > 0 || !change.loads.empty()) {
    const std::vector<Choice> choices = Market(options_, state, regimes).choices(state, round_over);
    PlanWalk walk(draft, *place_, choices, [&](const JobState&) { return round_over; });
    for (const Choice& choice : choices) walk.give(choice);
    if (state.waiting > 0) draft.wake_at(round_end);
    explain_market(draft, *place_, choices, round_end);
  }
  PlanWalk::wake_for_held_back(draft);
}

}  // namespace weft
