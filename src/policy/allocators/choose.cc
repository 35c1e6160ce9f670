#include "policy/allocators/choose.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "policy/allocators/choose_round.h"
#include "policy/explain.h"
#include "policy/services.h"

namespace weft {

void ChoosePolicy::decide(Draft& draft, const Change& change, PolicyMemory& memory) const {
  ChooseMemory& mine = static_cast<ChooseMemory&>(memory);
  for (JobId id : change.ended) {
    if (id < mine.beliefs.size()) mine.beliefs[id] = {};
  }
  const State& state = draft.state();
  if (state.waiting + state.placed == 0) {
    mine.next_round = -1;
    return;
  }
  const double rounds = std::floor(draft.now() / options_.round);
  // Work that comes after a time without any waits for the next multiple.
  const bool on_time = draft.now() == rounds * options_.round;
  if (mine.next_round < 0) mine.next_round = (rounds + (on_time ? 0 : 1)) * options_.round;
  // A real clock calls a little after the multiple.
  const bool due = draft.now() >= mine.next_round;
  if (due) mine.next_round = (rounds + 1) * options_.round;
  draft.wake_at(mine.next_round);
  if (!due && !change.nodes) {
    if (to_explain(state) != nullptr) {
      explain_waiting(
          draft, PackedPlace(NodeOrder::kBest, true), 0,
          fmt::format("nothing is decided before the next round at {:.0f} s", mine.next_round));
    }
    return;
  }
  ChooseRound(*this, draft, mine).run();
}

bool ChooseRound::movable(const JobState& job) const {
  if (job.phase != Phase::kPlaced || !job.spec->preemptible) return false;
  if (job.spec->kind == WorkloadKind::kService) return false;
  if (job.spec->menu->configurations[job.held.configuration].milli < kWhole) return false;
  if (job.report == nullptr) return true;
  return job.running && state_.now >= job.running_since + job.report->restart_s;
}

void ChooseRound::lift_all() {
  for (JobId id : state_.active) {
    if (movable(state_.job(id))) lifted_.emplace_back(id, draft_.stop(id));
  }
}

const Allocation& ChooseRound::former(const JobState& job) const {
  const auto at = std::lower_bound(lifted_.begin(), lifted_.end(), job.id,
                                   [](const auto& entry, JobId id) { return entry.first < id; });
  return at != lifted_.end() && at->first == job.id ? at->second : job.held;
}

void ChooseRound::add_bidder(const JobState& job) {
  ChooseMemory::Beliefs& beliefs = beliefs_of(job);
  Bidder& bidder = round_.bidders.emplace_back();
  bidder.job = &job;
  bidder.offers = beliefs.offers;
  bidder.learning = job.report != nullptr && !job.report->noise;
  bidder.restart_s = job.report != nullptr ? job.report->restart_s : policy_.options_.restart;
  const Allocation& held = former(job);
  if (held.empty()) return;
  const bool blind = policy_.value_->blind();
  const TypeId type = blind ? TypeId{0} : state_.cluster().type_of(held.devices.front().device);
  for (size_t i = 0; i < bidder.offers.size(); ++i) {
    const Offer& offer = bidder.offers[i];
    const bool same = blind ? offer.devices == static_cast<std::int32_t>(held.devices.size())
                            : offer.configuration == held.configuration && offer.type == type;
    if (same) bidder.held = static_cast<std::int32_t>(i);
  }
}

void ChooseRound::gather() {
  const Cluster& cluster = state_.cluster();
  round_.state = &state_;
  round_.capacity.resize(cluster.types.size());
  for (TypeId type = 0; type < cluster.types.size(); ++type) {
    round_.capacity[type] = state_.ledger.free_whole_of(type);
  }
  memory_.beliefs.resize(state_.jobs.size());
  for (JobId id : state_.active) {
    const JobState& job = state_.job(id);
    if (job.phase == Phase::kEnded || job.spec->kind == WorkloadKind::kService) continue;
    if (job.phase == Phase::kPlaced) {
      if (!movable(job)) continue;
      for (const DeviceShare& share : job.held.devices) {
        const NodeId node = cluster.node_of(share.device);
        round_.capacity[cluster.nodes[node].type] +=
            state_.ledger.device_in_service(node, share.device);
      }
    } else if (job.held_back_until > state_.now) {
      continue;
    }
    add_bidder(job);
  }
  if (!policy_.value_->blind()) return;
  std::int64_t pool = 0;
  for (std::int64_t devices : round_.capacity) pool += devices;
  round_.capacity = {pool};
}

ChooseProblem ChooseRound::problem() const {
  ChooseProblem problem;
  problem.capacity = round_.capacity;
  problem.first_option.push_back(0);
  for (const Bidder& bidder : round_.bidders) {
    for (const Offer& offer : bidder.offers) {
      problem.options.push_back({offer.value, offer.devices, offer.type});
    }
    problem.first_option.push_back(static_cast<std::uint32_t>(problem.options.size()));
  }
  return problem;
}

void ChooseRound::run() {
  const PackedPlace anyhow(NodeOrder::kBest, true);
  if (!serve_services(draft_, anyhow)) {
    lift_all();
    serve_services(draft_, anyhow);
  }
  gather();
  if (round_.bidders.empty()) return;
  policy_.value_->appraise(round_);
  const ChooseProblem asked = problem();
  if (memory_.price.size() != asked.capacity.size()) memory_.price.clear();
  const ChooseResult result = policy_.value_->settle(round_, asked, memory_.price);
  memory_.price = result.price;
  std::vector<Seat> seats;
  for (size_t i = 0; i < round_.bidders.size(); ++i) {
    const Bidder& bidder = round_.bidders[i];
    Seat& seat = seats.emplace_back();
    seat.job = bidder.job->id;
    seat.former = former(*bidder.job);
    if (result.choice[i] == kNoOption) continue;
    seat.offer = &bidder.offers[static_cast<size_t>(result.choice[i]) - asked.first_option[i]];
    seat.keeps = seat.offer - bidder.offers.data() == bidder.held;
  }
  if (policy_.value_->blind()) {
    place_in_pool(draft_, seats);
  } else {
    place_displacing_least(draft_, seats);
  }
  explain_watched(result);
}

void ChooseRound::explain_watched(const ChooseResult& result) {
  const JobState* const watched = to_explain(state_);
  if (watched == nullptr) return;
  std::string why = "it does not take part in this round";
  for (size_t i = 0; i < round_.bidders.size(); ++i) {
    if (round_.bidders[i].job != watched) continue;
    why = result.choice[i] != kNoOption
              ? "chosen, but no nodes have room for its gang"
              : fmt::format("other jobs make more of the devices ({} take part)",
                            round_.bidders.size());
  }
  explain_waiting(draft_, PackedPlace(NodeOrder::kBest, true), 0, why);
}

}  // namespace weft
