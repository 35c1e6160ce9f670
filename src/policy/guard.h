// Guard, the sixth part of a policy: what must hold whatever the score?
#pragma once

#include "policy/state.h"

namespace weft {

class Guard {
 public:
  virtual ~Guard() = default;
  // May the job be given devices now?
  virtual bool may_start(const State&, const JobState&) const { return true; }
  // May its devices be taken away now?
  virtual bool may_stop(const State&, const JobState&) const { return true; }
  // When a `may_stop` that is false now may turn true by the passing of time alone.
  virtual Seconds stop_allowed_at(const State&, const JobState&) const { return kNever; }
  // Adds the nodes that the job is not to be given while others suffice.
  virtual void avoid(const State&, const JobState&, std::vector<NodeId>&) const {}
  // True if `may_start` can differ between jobs that ask for the same devices.
  virtual bool depends_on_tenant() const { return false; }
};

// A placed job keeps its devices for at least `lease` seconds after they were given.
class MinimumLease : public Guard {
 public:
  explicit MinimumLease(Seconds lease) : lease_(lease) {}
  bool may_stop(const State& state, const JobState& job) const override {
    return state.now >= stop_allowed_at(state, job);
  }
  Seconds stop_allowed_at(const State& state, const JobState& job) const override {
    return job.running ? job.running_since + lease_ : state.now + lease_;
  }

 private:
  Seconds lease_;
};

// Nodes on which the job has crashed, and for `seconds` after it every node that failed.
class FailedNodeAvoidance : public Guard {
 public:
  explicit FailedNodeAvoidance(Seconds seconds) : seconds_(seconds) {}
  void avoid(const State& state, const JobState& job, std::vector<NodeId>& nodes) const override {
    for (const auto& [node, failed_at] : state.failures.nodes) {
      if (state.now < failed_at + seconds_) nodes.push_back(node);
    }
    const auto own = state.failures.jobs.find(job.id);
    if (own == state.failures.jobs.end()) return;
    nodes.insert(nodes.end(), own->second.begin(), own->second.end());
  }

 private:
  Seconds seconds_;
};

}  // namespace weft
