// Carries out a plan: who should hold which configuration, best first, whatever is in the way.
// Allocators that rank jobs by more than a key end in it.
#pragma once

#include <functional>
#include <set>
#include <tuple>
#include <vector>

#include "policy/draft.h"
#include "policy/place.h"

namespace weft {

struct Choice {
  JobId job = kNoJob;
  std::uint16_t configuration = 0;
  double rank = 0;  // a choice takes devices only from placed jobs of larger rank
};

class PlanWalk {
 public:
  using MayStop = std::function<bool(const JobState&)>;

  // `choices` ascend by rank. Placed jobs that none of them names are the first to give way,
  // youngest first. `may_stop` is asked of jobs that are preemptible.
  // Requires: draft and place outlive this.
  PlanWalk(Draft& draft, const Place& place, const std::vector<Choice>& choices, MayStop may_stop);

  // Brings the job to its configuration. Devices come from what is free, then from placed jobs of
  // larger rank, worst first; what was taken in vain is given back. All or nothing: on false the
  // job holds what it held before. A job held back after a refusal gets nothing.
  bool give(const Choice& choice);

  // Wakes the policy when a job that is held back may be tried again.
  static void wake_for_held_back(Draft& draft);

 private:
  struct Placed {
    double rank = kNever;
    JobId job = kNoJob;
  };
  using Demand = std::tuple<std::uint64_t, std::uint32_t, std::uint32_t, Bytes, std::uint32_t,
                            Bytes, int, bool, bool, std::uint32_t>;

  // What the user asked for, configuration 0, is taken on any device type that runs it.
  bool place(const JobState& job, const Choice& choice, std::uint32_t replicas,
             Allocation& out) const;
  bool find(const JobState& job, const Choice& choice, std::uint32_t replicas, Allocation& out);
  bool evict(const JobState& job, const Choice& choice, std::uint32_t replicas, Allocation& out);
  bool change(const JobState& job, const Choice& choice, std::uint32_t replicas);
  double reachable(const Choice& choice, std::uint64_t types) const;

  Draft& draft_;
  const Place& place_;
  const State& state_;
  MayStop may_stop_;
  std::vector<Placed> placed_;  // worst first
  std::set<Demand> in_vain_;    // what did not fit, so that its likes are not tried
};

// Whether both want a part of one device, or something beside the devices of one node.
bool in_each_others_way(const Allocation& a, const Allocation& b);

}  // namespace weft
