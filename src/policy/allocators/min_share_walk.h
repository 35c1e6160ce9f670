// One decision of a min-share policy; private to min_share*.cc.
#pragma once

#include <map>
#include <vector>

#include "policy/allocators/elastic_plan.h"
#include "policy/allocators/min_share.h"
#include "policy/allocators/plan_walk.h"

namespace weft {

using Plans = std::map<JobId, Plan>;

struct MinShareMemory : PolicyMemory {
  std::vector<bool> admitted;  // by job
  Plans plans;                 // of admitted jobs that have not ended
};

class MinShareWalk {
 public:
  MinShareWalk(const MinShareOptions& options, const Place& place, Draft& draft,
               MinShareMemory& memory)
      : options_(options),
        place_(place),
        draft_(draft),
        memory_(memory),
        state_(draft.state()),
        search_(state_, place, options.restart),
        firm_(state_, place) {}

  void run(const Change& change) {
    memory_.admitted.resize(state_.jobs.size());
    for (JobId id : change.ended) {
      memory_.admitted[id] = false;
      memory_.plans.erase(id);
    }
    note_firm();
    mend();
    for (JobId id : change.arrived) consider(id);
    carry_out();
    fill_rest();
    hand_out_spare();
    for (const auto& [id, plan] : memory_.plans) {
      for (const Booking& stay : plan) {
        for (Seconds at : {stay.from, stay.to}) {
          if (at > state_.now) draft_.wake_at(at);
        }
      }
    }
    PlanWalk::wake_for_held_back(draft_);
    explain();
  }

 private:
  bool admitted(JobId id) const { return memory_.admitted[id]; }
  bool gives_way(const JobState& job) const {
    return !admitted(job.id) && job.spec->preemptible && job.spec->kind != WorkloadKind::kService;
  }
  Seconds deadline(JobId id) const { return state_.job(id).spec->deadline; }
  Seconds firm_end(const JobState& job) const;
  void note_firm();
  Calendar planned_but_of(JobId id) const;
  bool usable(const Plan& plan) const;
  bool kept(JobId id, const Plan& plan) const;
  std::vector<JobId> widest() const;
  bool plan_anew(std::vector<JobId> jobs, Plans& out) const;
  void mend();
  void consider(JobId id);
  bool try_admit(JobId id);
  bool hopeless(JobId id) const;
  void carry_out();
  void fill_rest();
  bool start_rest(const JobState& job, State& free);
  void hand_out_spare();
  bool widen(JobId id, Plan& better, double& price) const;
  void explain() const;  // min_share_explain.cc

  const MinShareOptions& options_;
  const Place& place_;
  Draft& draft_;
  MinShareMemory& memory_;
  const State& state_;
  PlanSearch search_;
  Calendar firm_;  // placed jobs that neither are admitted nor give way
};

}  // namespace weft
