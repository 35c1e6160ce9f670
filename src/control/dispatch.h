// The border between wish and world: which commands are pending, and which devices the world may
// still be using.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "control/journal.h"
#include "model/cluster.h"
#include "policy/state.h"

namespace weft {

// What the world is believed to do with a job.
enum class Standing : std::uint8_t { kIdle, kStarting, kRunning, kResizing, kStopping };

struct Pursuit {
  Standing standing = Standing::kIdle;
  std::uint32_t epoch = 0;
  std::uint32_t number = 0;
  bool blocked = false;  // wants a start or resize whose devices are still in use
  bool refused = false;  // the pending stop or resize was refused; asked anew at its deadline
  Allocation used;       // what the world may be using
  // While kResizing `used` covers both: the world may be at either end of the change.
  struct Change {
    Allocation from, to;
  };
  std::unique_ptr<Change> change;
};

class Dispatch {
 public:
  // Requires: cluster, state and executor outlive this. `timeout`: seconds until a command without
  // an outcome is sent again.
  Dispatch(const Cluster& cluster, State& state, Executor& executor, Seconds timeout,
           Journal* journal);

  void reserve(size_t jobs) { pursuits_.reserve(jobs); }
  void add_job() { pursuits_.emplace_back(); }
  const Pursuit& pursuit(JobId job) const { return pursuits_[job]; }

  // Sends the command that brings the world closer to what the job should hold, if one can be sent
  // now. Does nothing while another is pending.
  void pursue(JobId job);
  // Sends again what has been pending past its deadline.
  void resend_due();
  // Sends everything that is pending again, before its deadline.
  void resend_pending();
  // The world confirmed the pending command. Returns the kind that was confirmed, kNone if the
  // outcome is not of the pending command.
  CommandKind confirm(JobId job, std::uint32_t number);
  // The pending command will not happen. A refused stop or resize is asked anew at its deadline,
  // under a new number: the old one would only be answered as before.
  CommandKind refuse(JobId job, std::uint32_t number);
  // Of what the running job used, no more than this is left.
  void shrink(JobId job, Allocation left) { set_used(pursuits_[job], std::move(left)); }
  // The job uses nothing any more: it finished, crashed or its stop was confirmed.
  void release(JobId job);
  // Earliest time at which resend_due has something to do.
  Seconds next_due();

  // For images of the controller: everything but what is used, which rebuild() counts anew. False
  // if something does not fit.
  template <typename Archive>
  void persist_in(Archive& io);
  bool rebuild(const std::function<bool(const Allocation&)>& fits);

 private:
  struct Due {
    Seconds at = 0;
    JobId job = kNoJob;
    std::uint32_t number = 0;
    template <typename Archive>
    friend void persist(Archive& io, Due& due) {
      io(due.at, due.job, due.number);
    }
  };

  void send(JobId job, CommandKind kind, Standing standing);
  // The pending command, as it goes out now.
  Command command_of(JobId job, CommandKind kind) const;
  static CommandKind pending_kind(const Pursuit& pursuit);
  bool unused(JobId job, const Allocation& wanted) const;
  void use(const Allocation& allocation, int sign);
  // Replaces what the job is believed to use.
  void set_used(Pursuit& pursuit, Allocation allocation);
  void settle_change(Pursuit& pursuit, bool done);
  void retry_blocked();
  bool is_pending(const Due& due) const;

  State& state_;
  Executor& executor_;
  Seconds timeout_;
  Journal* journal_;               // may be null
  std::vector<Pursuit> pursuits_;  // by job
  // What the world may be using: by device, and by node (zero where nothing is stated).
  std::vector<std::int16_t> used_milli_;
  struct HostUse {
    std::int64_t cpu_milli = 0;
    std::int64_t memory = 0;
  };
  std::vector<HostUse> used_host_;
  std::vector<JobId> blocked_;
  std::deque<Due> due_;  // ascending: every command has the same timeout
};

}  // namespace weft
