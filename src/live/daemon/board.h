// What people may look at: jobs as they stand, kept beside the controller so that nobody who looks
// has to wait for a decision.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "control/journal.h"
#include "control/persist.h"
#include "live/store/records.h"

namespace weft::live {

enum class JobStanding : std::uint8_t {
  kQueued,
  kStarting,
  kRunning,
  kStopping,
  kFinished,
  kFailed,
  kCancelled,
  kRejected,
  kHeld  // waits for something that is not the policy's business
};
inline constexpr const char* kStandingNames[] = {"queued",    "starting", "running",
                                                 "stopping",  "finished", "failed",
                                                 "cancelled", "rejected", "held"};
inline bool has_ended(JobStanding standing) {
  return standing >= JobStanding::kFinished && standing <= JobStanding::kRejected;
}

struct JobView {
  JobId id = kNoJob;
  JobIdentity identity;
  std::string name, queue;
  TenantId tenant = 0;
  std::int32_t priority = 0;
  JobStanding standing = JobStanding::kQueued;
  Seconds submitted = 0, started = kNever, ended = kNever;  // `started`: first
  std::uint32_t epoch = 0, restarts = 0;
  std::uint32_t failures = 0;           // crashes of its own doing
  std::uint32_t failed_in_row = 0;      // the last of them, without a long run between
  Allocation held;                      // of the run that starts, runs or stops
  Allocation resized_from;              // while a resize to `held` is pending: what it held
  std::string why;                      // of the last change
  double step = 0, loss = 0, rate = 0;  // as last reported
  // As last reported, and not kept.
  double qps = 0;       // of a service: requests per second
  Seconds latency = 0;  // of its slowest replica
  Seconds idle_s = 0;   // for how long it has used nothing of its share
  std::string remark;   // what is wrong with the run
  // Ranks of that epoch may be frozen on these devices; 0: none are.
  std::uint32_t frozen_epoch = 0;
  Allocation frozen;
  // By configuration of the menu: codec and sync mode.
  std::vector<std::pair<std::string, std::string>> labels;
};

template <typename Archive>
void persist(Archive& io, JobView& v) {
  io(v.id, v.identity, v.name, v.queue, v.priority);
  persist_enum(io, v.standing, JobStanding::kHeld);
  io(v.submitted, v.started, v.ended, v.epoch, v.restarts, v.held, v.why, v.step, v.loss, v.rate);
  io(v.labels, v.failures, v.tenant);
}

struct NodeView {
  NodeId id = kNoNode;
  bool in_service = true;
  bool drained = false;  // by an operator: stays out of service until undrained
  std::string why;       // of the last change
};

template <typename Archive>
void persist(Archive& io, NodeView& v) {
  io(v.id, v.in_service, v.drained, v.why);
}

// Words of operators in the `why` of node events.
inline constexpr const char* kDrained = "drained";
inline constexpr const char* kUndrained = "undrained";
inline constexpr const char* kFenced = "fenced";

// Begins the `why` of jobs that were stopped and wait again; behind a colon: why they were evicted.
inline constexpr const char* kPreempted = "preempted";
// Begins the `why` of a stop that left the ranks frozen; names of nodes follow.
inline constexpr const char* kFrozenOn = "frozen on ";
// Whether its stop is not the policy's doing: its node goes, or it uses nothing.
bool is_evicted(const JobView& job);

// One line of the story, as it happened.
struct StoryLine {
  std::uint64_t number = 0;  // ascending
  Seconds at = 0;
  std::string uuid;  // empty: not of a job
  std::string what;
};

// Thread-safe.
class Board : public weft::Journal {
 public:
  explicit Board(const Cluster& cluster) : cluster_(cluster), nodes_(cluster.nodes.size()) {
    for (NodeId id = 0; id < nodes_.size(); ++id) nodes_[id].id = id;
  }

  // A submission that is durable; in the order of the journal, also before the controller has heard
  // of it. One that is there already changes nothing.
  void admit(const EventRecord& record);
  // Written by the controller's thread, in the order of the journal: tell() before the controller
  // handles the event, whose job has been admitted.
  void tell(const EventRecord& record);
  void command(Seconds at, const Command& command) override;
  void rejected(Seconds at, JobId job, const std::string& why) override;
  void report(JobId job, std::uint32_t epoch, double step, double loss, double rate);
  void traffic(JobId job, double qps, Seconds latency);
  void idle(JobId job, std::uint32_t epoch, Seconds idle_s);
  // Something about the job's run that people should know; nothing: it is well again.
  void remark(JobId job, Seconds at, const std::string& what);
  // A line of the story alone.
  void note(JobId job, Seconds at, const std::string& what);
  // None of its ranks are frozen any more. The journal does not hold it: whoever comes after us
  // asks agents again.
  void frozen_gone(JobId job, Seconds at, const std::string& why);

  // Looking.
  std::optional<JobView> find(const std::string& uuid_or_name) const;
  std::optional<JobView> at(JobId job) const;
  // Jobs that `chosen` wants, in order of submission.
  std::vector<JobView> jobs(const std::function<bool(const JobView&)>& chosen) const;
  std::vector<JobView> jobs_on(NodeId node) const;
  bool any(const std::function<bool(const JobView&)>& holds) const;
  // All of them, without a copy; `look` asks the board nothing.
  void each(const std::function<void(const JobView&)>& look) const;
  NodeView node(NodeId id) const;
  std::vector<Closure> closures() const;  // also some that are over
  std::vector<StoryLine> story_after(std::uint64_t number) const;
  std::size_t size() const;

  // For images.
  std::string image() const;
  bool restore(std::string_view image);

 private:
  static constexpr std::size_t kStoryKept = 20'000;
  JobView& view(JobId job) { return *views_[job]; }
  void add_line(Seconds at, const std::string& uuid, std::string what);
  void tell_of_job(const EventRecord& record);
  void tell_of_outcome(JobView& view, const EventRecord& record);
  void end(JobView& view, Seconds at, JobStanding how, const std::string& why);
  static void forget_run(JobView& view);
  // Nothing runs on the node any more, and so nothing is frozen there.
  void thaw_all(NodeId node);
  // It is held from now on, or once its run is over.
  void hold(JobView& view, const EventRecord& record);
  // It holds nothing any more: it waits, or is held.
  void wait_again(JobView& view);
  // Its replicas or ranks that have a part on a node are gone.
  void lose(JobView& view, const Event& lost);

  const Cluster& cluster_;
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<JobView>> views_;  // by JobId
  std::map<std::string, JobId> by_uuid_, by_name_;
  std::vector<NodeView> nodes_;
  std::vector<Closure> closures_;
  std::deque<StoryLine> story_;
  std::uint64_t next_line_ = 1;
  // What each job's pending command would make of it.
  std::map<JobId, std::pair<std::uint32_t, CommandKind>> pending_;
  std::map<JobId, std::string> held_next_;  // jobs that are being stopped: why they are held then
};

}  // namespace weft::live
