// One round of a share policy; private to time_share.cc and share_round*.cc.
#pragma once

#include <tuple>
#include <utility>

#include "policy/allocators/time_share.h"
#include "policy/solve/packed_share.h"

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
  // Says why the watched job waits.
  void explain_watched(Seconds round_ends);

 private:
  using Row = TimeShareMemory::Row;
  using UnitRow = TimeShareMemory::UnitRow;
  struct Pick {
    ShareUnit unit;
    TypeId type;
  };
  struct Candidate {
    double priority, owed, fraction;
    ShareUnit unit;
    double devices;
    bool operator<(const Candidate& other) const {
      return std::tie(other.priority, other.owed, other.fraction, unit) <
             std::tie(priority, owed, fraction, other.unit);
    }
  };
  using Fractions = std::map<ShareUnit, std::vector<double>>;  // by type

  // Keeping the books.
  void forget(JobId id);
  void open_unit(const ShareUnit& unit);

  // What the solver is asked.
  Fractions solve(const std::vector<JobId>& jobs);
  ShareProblem problem_of(const std::vector<JobId>& jobs) const;
  std::vector<double> solve_alone(const ShareProblem& problem, const std::vector<JobId>& jobs);
  std::vector<ShareNeed> needs(const ShareProblem& problem, const std::vector<JobId>& jobs);
  std::vector<double> solve_value(const ShareProblem& problem, const std::vector<JobId>& jobs);

  // Pairs.
  bool may_pair(JobId a, JobId b) const;
  bool pair_fits(TypeId type, JobId a, JobId b) const;
  void pair_at_random(const std::vector<JobId>& jobs);
  PackedProblem packed_problem(const ShareProblem& problem, const std::vector<JobId>& jobs) const;
  Fractions solve_pairs(const ShareProblem& problem, const std::vector<JobId>& jobs);
  Fractions try_pairs(const ShareProblem& problem, const std::vector<JobId>& jobs);
  void judge_trials();

  // The round.
  std::vector<Pick> pick();
  bool is_candidate(const ShareUnit& unit, const UnitRow& row, TypeId type,
                    const std::set<JobId>& taken) const;
  void settle(const std::vector<Pick>& picks);
  void stop_leavers(const std::vector<Pick>& picks);
  void stop_all(const ShareUnit& unit);
  void widen(const ShareUnit& unit);
  void settle_type(TypeId type, std::vector<ShareUnit> units);
  bool place_unit(const ShareUnit& unit, TypeId type, bool last_try);
  void seat_beside(JobId host, JobId guest, TypeId type);
  bool sits_with(JobId a, JobId b) const;
  double capacity(TypeId type) const;
  size_t types() const { return state_.cluster().types.size(); }
  std::uint32_t devices_of(const ShareUnit& unit) const {
    return state_.job(unit.first).spec->requested().devices;
  }

  const TimeSharePolicy& policy_;
  Draft& draft_;
  TimeShareMemory& memory_;
  const State& state_;
};

}  // namespace weft
