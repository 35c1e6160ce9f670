#include "policy/allocators/auction.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "policy/allocators/plan_walk.h"
#include "policy/explain.h"

namespace weft {
namespace {

struct AuctionMemory : PolicyMemory {
  std::vector<Seconds> lease_end;  // by job, of placed ones
};

struct AuctionBidder {
  JobId job = kNoJob;
  double rho = 0;
  double gain = 0;  // of each device
  bool placed = false;
};

std::uint32_t requested_devices(const JobState& job) {
  return job.spec->requested().devices * job.spec->min_replicas;
}

void explain_auction(Draft& draft, const Place& place, const std::vector<AuctionBidder>& bidders,
                     size_t offered) {
  const JobState* const job = to_explain(draft.state());
  if (job == nullptr) return;
  std::uint32_t ahead = 0;
  for (const AuctionBidder& bidder : bidders) {
    if (bidder.job != job->id) {
      ahead += draft.state().job(bidder.job).phase == Phase::kWaiting;
      continue;
    }
    return explain_waiting(
        draft, place, ahead,
        fmt::format("its rho is {:.2f}; leases that end are offered to the {} of {} jobs with the "
                    "largest",
                    bidder.rho, offered, bidders.size()));
  }
}

}  // namespace

FinishTimes finish_times(const State& state, const JobState& job, double sharers,
                         Seconds unknown_s) {
  const Seconds ran = job.attained_run_s(state.now);
  const Seconds left = job.estimate.known() ? job.remaining_s(state.now) : std::max(ran, unknown_s);
  const Seconds whole = job.estimate.known() ? job.estimate.duration : ran + left;
  const double slower = requested_devices(job) * sharers / state.cluster().device_count();
  FinishTimes times;
  times.shared = state.now - job.submit + left;
  times.equal = std::max(1e-9, whole * std::max(1.0, slower));
  return times;
}

std::unique_ptr<PolicyMemory> AuctionPolicy::new_memory() const {
  return std::make_unique<AuctionMemory>();
}

void AuctionPolicy::decide(Draft& draft, const Change&, PolicyMemory& memory) const {
  const State& state = draft.state();
  std::vector<Seconds>& lease_end = static_cast<AuctionMemory&>(memory).lease_end;
  lease_end.resize(state.jobs.size());
  const double sharers = state.waiting + state.placed;
  const Seconds lease = options_.lease;
  std::vector<AuctionBidder> bidders;
  for (JobId id : state.active) {
    const JobState& job = state.job(id);
    if (job.phase == Phase::kEnded) continue;
    const FinishTimes times = finish_times(state, job, sharers, lease);
    const double gain = std::log1p(lease / std::max(times.shared, 1e-9)) / requested_devices(job);
    bidders.push_back({id, times.rho(), gain, job.phase == Phase::kPlaced});
  }
  std::stable_sort(bidders.begin(), bidders.end(),
                   [](const AuctionBidder& a, const AuctionBidder& b) { return a.rho > b.rho; });
  const auto offered = static_cast<size_t>(std::max(
      1.0, std::ceil((1 - options_.fairness) * static_cast<double>(bidders.size()) - 1e-9)));
  const auto others =
      bidders.begin() + static_cast<std::ptrdiff_t>(std::min(offered, bidders.size()));
  std::stable_sort(bidders.begin(), others,
                   [](const AuctionBidder& a, const AuctionBidder& b) { return a.gain > b.gain; });
  std::stable_partition(others, bidders.end(), [](const AuctionBidder& b) { return b.placed; });

  std::vector<Choice> choices;
  for (auto bidder = bidders.begin(); bidder != bidders.end(); ++bidder) {
    const auto rank =
        static_cast<double>(bidder < others ? bidder - bidders.begin() : others - bidders.begin());
    choices.push_back({bidder->job, 0, rank});
  }
  PlanWalk walk(draft, *place_, choices,
                [&](const JobState& job) { return lease_end[job.id] <= state.now; });
  for (size_t i = 0; i < choices.size(); ++i) {
    const bool given = walk.give(choices[i]);
    // Who wins again gets a new lease; who merely is not in the way stays until it is.
    const bool renewed = i < offered || !bidders[i].placed;
    if (given && renewed && lease_end[choices[i].job] <= state.now) {
      lease_end[choices[i].job] = state.now + lease;
    }
  }
  if (state.waiting > 0) {
    draft.wake_at(state.now + lease);
    for (const AuctionBidder& bidder : bidders) {
      const Seconds end = lease_end[bidder.job];
      if (state.job(bidder.job).phase == Phase::kPlaced && end > state.now) draft.wake_at(end);
    }
  }
  PlanWalk::wake_for_held_back(draft);
  explain_auction(draft, *place_, bidders, std::min(offered, bidders.size()));
}

}  // namespace weft
