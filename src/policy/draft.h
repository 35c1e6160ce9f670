// A decision being written. Every edit shows at once in the state, so that the next question a
// policy asks is answered with what it has decided so far.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "policy/state.h"

namespace weft {

// Why the watched job still waits.
struct Reason {
  Seconds at = 0;
  std::string text;
  std::uint32_t ahead = 0;         // jobs before it in the order
  std::uint32_t free_devices = 0;  // of any type
};

class Draft {
 public:
  explicit Draft(State& state) : state_(&state) {}

  const State& state() const { return *state_; }
  Seconds now() const { return state_->now; }

  // Gives a waiting job its devices. Of the entries of its menu that ask for the same as that of
  // `allocation` (another codec, another sync mode) it gets the one believed fastest there.
  // Requires: kWaiting; everything in `allocation` is free.
  void start(JobId job, Allocation allocation);
  // Takes everything from a placed job and returns what it held. Requires: kPlaced.
  Allocation stop(JobId job);
  // Gives a placed job other devices, another configuration or another share in one step.
  // Requires: kPlaced; what is asked for is free or its own.
  void move(JobId job, Allocation allocation);
  // Calls the policy again at `at` even if nothing else happens by then; the earliest wins.
  void wake_at(Seconds at) { wake_at_ = std::min(wake_at_, at); }
  // Ends a job that will not be run (admission control). Requires: kWaiting.
  void reject(JobId job, std::string why);
  void explain(Reason reason) { reasons_.push_back(std::move(reason)); }

  // For the controller: jobs touched since the last clear(), in order, perhaps more than once.
  const std::vector<JobId>& touched() const { return touched_; }
  const std::vector<std::pair<JobId, std::string>>& rejected() const { return rejected_; }
  const std::vector<Reason>& reasons() const { return reasons_; }
  Seconds wake() const { return wake_at_; }
  void clear();

 private:
  friend class SetAside;
  State* state_;
  std::vector<JobId> touched_;
  std::vector<std::pair<JobId, std::string>> rejected_;
  std::vector<Reason> reasons_;
  Seconds wake_at_ = kNever;
};

// While it lives, these nodes offer nothing, so that a search for devices looks elsewhere.
// Requires: the draft outlives it.
class SetAside {
 public:
  SetAside(Draft& draft, const std::vector<NodeId>& nodes);
  ~SetAside();
  SetAside(const SetAside&) = delete;
  SetAside& operator=(const SetAside&) = delete;

 private:
  Ledger& ledger_;
  std::vector<NodeId> nodes_;  // those that offered something
};

}  // namespace weft
