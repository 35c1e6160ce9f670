// Looks after what runs: jobs that make no step any more, that use nothing of what they hold, that
// must leave a node soon. Holds no socket, thread or clock.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <string>

#include "live/daemon/board.h"
#include "live/job/job_spec.h"

namespace weft::live {

class Watch {
 public:
  struct Links {
    std::function<Seconds()> now;  // the controller's clock
    std::function<void(EventRecord)> post;
    // Has the stacks of all ranks saved.
    std::function<void(const std::string& uuid, std::uint32_t epoch, const std::string& why)>
        stacks;
    // Ends the run: it is to be started again, on other nodes if there are any.
    std::function<void(const std::string& uuid, std::uint32_t epoch, const std::string& why)> hung;
    std::function<void(const std::string& uuid, int number)> signal;
  };
  // `reclaim_idle_s`: a preemptible job that has been idle for so long is stopped while others
  // wait; kNever: never. Requires: the board outlives this.
  Watch(Board& board, Seconds reclaim_idle_s, Links links)
      : board_(board), reclaim_idle_s_(reclaim_idle_s), links_(std::move(links)) {}

  // Rank 0 of a run said at which step it is.
  void progress(const JobView& job, double step);
  // What a node says its part of a run has used. Idle is who is idle everywhere.
  void usage(const JobView& job, NodeId node, Seconds idle_s);
  // The node will be taken away at that time: its jobs are asked to save, and are moved in time.
  void leave(NodeId node, Seconds at);
  // To be called several times a second.
  void tick();

 private:
  struct Run {
    std::uint32_t epoch = 0;
    JobSpec spec;
    double step = 0;
    Seconds step_at = 0;        // when it was first seen there
    std::deque<Seconds> paces;  // seconds for a step, the newest
    bool hung = false;
    Seconds restart_at = kNever;
    std::map<NodeId, Seconds> idle;
    bool evicted = false;
    Seconds leave_at = kNever;
  };

  Run& run_of(const JobView& job);
  void look_for_hang(const JobView& job, Run& run);
  void look_for_idle(const JobView& job, Run& run);
  void evict(const JobView& job, Run& run, Seconds hold_s, const std::string& why);
  void clear_nodes();
  bool others_wait() const;

  Board& board_;
  Seconds reclaim_idle_s_;
  Links links_;
  std::map<JobId, Run> runs_;
};

}  // namespace weft::live
