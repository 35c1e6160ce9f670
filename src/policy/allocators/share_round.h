// One round of a share policy; private to time_share.cc and share_round*.cc.
#pragma once

#include <utility>

#include "policy/allocators/time_share.h"

namespace weft {

class ShareRound {
 public:
  ShareRound(const TimeSharePolicy& policy, Draft& draft, TimeShareMemory& memory)
      : policy_(policy), draft_(draft), memory_(memory), state_(draft.state()) {}

  void fold(const Change& change);
  // Books what each job received in the round that ends.
  void account();
  // Asks the solver, if it is time to.
  void compute_shares();
  // Hands out the devices of every type for the next round.
  void run();

 private:
  using Row = TimeShareMemory::Row;
  struct Pick {
    JobId job;
    TypeId type;
  };

  std::vector<double> solve(const std::vector<JobId>& jobs);
  std::vector<ShareNeed> needs(const ShareProblem& problem, const std::vector<JobId>& jobs);
  std::vector<double> solve_value(const ShareProblem& problem, const std::vector<JobId>& jobs);
  std::vector<Pick> pick();
  void settle(const std::vector<Pick>& picks);
  void settle_type(TypeId type, std::vector<JobId> jobs);
  double capacity(TypeId type) const;
  size_t types() const { return state_.cluster().types.size(); }

  const TimeSharePolicy& policy_;
  Draft& draft_;
  TimeShareMemory& memory_;
  const State& state_;
};

}  // namespace weft
