// The brain: folds events into beliefs, asks the policy, and pursues what it decided.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/statistics.h"
#include "control/back_off.h"
#include "control/decision.h"
#include "control/dispatch.h"
#include "control/event.h"
#include "control/history.h"
#include "control/journal.h"
#include "policy/policy.h"

namespace weft {

struct ControllerOptions {
  Seconds command_timeout = 30;
  // Of jobs after setbacks in a row: refused starts, and crashes of runs that had added nothing to
  // the work kept and were not longer than its longest pause. Only a crash is free the first time.
  BackOff back_off;
  bool estimates_from_history = false;
  // Reads a clock around each decision for the latency report; null: not measured.
  std::int64_t (*clock_ns)() = nullptr;
};

// Deterministic: the same events in the same order give the same commands.
// Thread-safety: none; one caller.
class Controller {
 public:
  // Requires: all references outlive the controller. `journal` may be null.
  Controller(const Cluster& cluster, const Policy& policy, Executor& executor,
             ControllerOptions options, Journal* journal = nullptr);

  // Makes room for this many jobs in all.
  void reserve(size_t jobs);

  // Folds one event. Commands that follow from it without a decision (a start that waited for
  // devices) are sent at once. Requires: event.at is not before any earlier event's.
  // Returns the job's id for kSubmit, else event.job.
  JobId handle(const Event& event);
  // Whether decide() would call the policy.
  bool is_due(Seconds now) const { return policy_wake_ <= now || !change_.empty(); }
  // Calls the policy if anything it should know has changed, and sends the commands. To be called
  // once after all events of one instant.
  void decide(Seconds now);
  // Does what a recorded decision did, in place of calling the policy, and sends the commands that
  // follow from it. Afterwards the policy's memory is not that of the recorded one: before the next
  // decide() take_policy() must be called. Fails if the decision does not fit the state, which is
  // then not to be used.
  Status fold(Seconds now, const Decision& decision);
  // From now on this policy decides, with nothing to remember; to it every job that has not ended
  // has just arrived, those that hold devices too. Requires: it outlives the controller.
  void take_policy(const Policy& policy);
  // Everything but what the policy remembers, as bytes.
  std::string image() const;
  // Makes a new controller of the same cluster what the image says. As after fold(), take_policy()
  // must be called before decide(). Fails, naming why, on bytes that are no such image; the
  // controller is then not to be used.
  Status restore(std::string_view image);
  // Sends every pending command again, as a controller does that does not know whether they went
  // out before it was restored.
  void ask_again() { dispatch_.resend_pending(); }
  // The controller wants a kTick at this time even if nothing else happens.
  Seconds next_wake();

  const State& state() const { return state_; }
  State& mutable_state() { return state_; }
  const Dispatch& dispatch() const { return dispatch_; }
  const DurationHistogram& decision_latency() const { return latency_; }
  std::int64_t decisions() const { return decisions_; }

 private:
  JobId submit(const Event& event);
  // From now on the policy knows of it.
  void admit(JobState& job);
  void withdraw(JobState& job);
  // Until its release no policy knows of it.
  void hold(const Event& event);
  void hold_back(const Event& event);
  void lost(const Event& event);
  // Whether the ranks on these devices can go on alone; then the configuration is set.
  bool can_go_on(const JobState& job, Allocation& left) const;
  void close_node(const Event& event);
  // When some node is next closed or opened.
  Seconds next_closing() const;
  void outcome(const Event& event);
  void finished(const Event& event);
  void crashed(const Event& event);
  void progress(const Event& event);
  void load(const Event& event);
  void node_down(const Event& event);
  // Of a node or of one device of it.
  void set_available(const Event& event, bool available);
  void open_interval(JobState& job);
  void close_interval(JobState& job);
  // Takes the holding away without the policy's doing and tells the policy. After a row of
  // `setbacks` the job is held back.
  void send_back(JobState& job, std::uint32_t setbacks);
  void send_back(JobState& job) { send_back(job, job.setbacks); }
  void end(JobState& job);
  // Sends what follows from the jobs a decision touched, in order, perhaps more than once.
  void pursue(const std::vector<JobId>& touched);
  bool stale(const Event& event) const;
  template <typename Archive>
  void persist_in(Archive& io);
  bool fits_cluster(const Allocation& allocation) const;
  bool rebuild();

  const Policy* policy_;
  ControllerOptions options_;
  Journal* journal_;
  State state_;
  Dispatch dispatch_;
  Draft draft_;
  Change change_;
  std::unique_ptr<PolicyMemory> memory_;
  History history_;
  Seconds policy_wake_ = kNever;
  std::uint32_t ended_in_active_ = 0;
  std::map<JobId, std::uint32_t> load_notices_;  // of services: number of the newest
  std::map<JobId, Seconds> held_back_;           // of kHoldBack, until the run is over
  DurationHistogram latency_;
  std::int64_t decisions_ = 0;
};

}  // namespace weft
