// One round of a choose policy; private to choose.cc, choose_offers.cc.
#pragma once

#include <vector>

#include "policy/allocators/choose.h"
#include "policy/allocators/choose_place.h"

namespace weft {

class ChooseRound {
 public:
  ChooseRound(const ChoosePolicy& policy, Draft& draft, ChooseMemory& memory)
      : policy_(policy), draft_(draft), memory_(memory), state_(draft.state()) {}

  void run();

 private:
  // Takes the devices of every job that may be moved, so that services find room.
  void lift_all();
  bool movable(const JobState& job) const;
  void gather();
  void add_bidder(const JobState& job);
  const Allocation& former(const JobState& job) const;
  ChooseProblem problem() const;
  void explain_watched(const ChooseResult& result);

  // choose_offers.cc
  ChooseMemory::Beliefs& beliefs_of(const JobState& job);
  std::vector<Offer> offers_of(const JobState& job) const;
  std::vector<Offer> pooled_offers_of(const JobState& job) const;
  void add_offer(const JobState& job, std::uint16_t configuration, TypeId type,
                 std::vector<Offer>& offers) const;

  const ChoosePolicy& policy_;
  Draft& draft_;
  ChooseMemory& memory_;
  const State& state_;
  Round round_;
  std::vector<std::pair<JobId, Allocation>> lifted_;  // ascending by job
};

}  // namespace weft
