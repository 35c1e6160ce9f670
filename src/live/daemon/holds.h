// Jobs that are held: which must end before them (`depends_on`), and how many members of their
// array may be under way at once (`array: 0-99%8`), and whose owners have spent their budgets.
//
// Nothing here is kept: it follows from the board, and what it decides becomes events (kRelease,
// kHold, kWithdraw), so that recovery and replay need no second look.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "live/daemon/board.h"
#include "live/job/job_spec.h"

namespace weft::live {

// The members' array, by the uuid of its first member; in every member's environment.
inline constexpr const char* kArrayVariable = "WEFT_ARRAY_JOB";

// For jobs that are about to be submitted together (members of one array, or one job): names in
// `depends_on` become uuids; the name of an array means all its members. Returns for each why it is
// held; empty: it is not. Error: a job that nobody knows, or one that ended so that nothing can
// fulfil the condition any more. Requires: all members depend on the same.
Result<std::vector<std::string>> resolve_holds(std::vector<JobSpec>& members, const Board& board);

// Whether somebody else than jobs and arrays wants a job to wait.
struct HoldVerdict {
  std::string why;     // empty: it may go
  bool stops = false;  // also if it runs
};

// Of one thread: the controller's.
class Holds {
 public:
  // Requires: the board outlives this. `post` makes an event durable and has it folded.
  // `gate` is asked before anything is released; null: all may go.
  Holds(const Board& board, std::function<void(EventRecord)> post,
        std::function<HoldVerdict(const JobView&)> gate = nullptr)
      : board_(board), post_(std::move(post)), gate_(std::move(gate)) {}

  // The controller is back: looks at every job.
  void begin();
  // After an event was folded, and after a job was rejected, as a kWithdraw of it.
  void take(const EventRecord& record);
  // The policy has the job stopped, and it is to wait then.
  void stopping(JobId job);
  // The gate may say something else than before.
  void ask_gate_again();

 private:
  struct Held {
    std::vector<std::pair<JobId, DependencyCondition>> needs;  // not fulfilled yet
    std::string array;                                         // empty: no limit
  };
  struct Array {
    std::uint32_t at_once = 0;
    std::set<JobId> under_way;  // released or about to be, and not ended
    std::set<JobId> ready;      // held for their turn alone
  };

  void admit(const JobView& job);
  void ended(const JobView& job);
  // True: nothing is missing any more.
  bool check(JobId job, Held& held);
  void give_turns(Array& array);
  void let_go(JobId job, Held& held);
  // Unless the gate is closed.
  void release(JobId job, const std::string& why);
  // Holds a job that waits, or runs and has to stop, if the gate is closed.
  void check_gate(const JobView& job);
  void tell(EventKind kind, JobId job, const std::string& why, double value = 0);

  const Board& board_;
  std::function<void(EventRecord)> post_;
  std::function<HoldVerdict(const JobView&)> gate_;
  std::set<JobId> gated_;  // held for nothing but the gate
  std::map<JobId, Held> held_;
  std::map<JobId, std::vector<JobId>> waiting_for_;  // by job: who waits for its end
  std::map<std::string, Array> arrays_;
  std::map<JobId, std::string> member_of_;  // jobs of arrays with a limit that have not ended
};

}  // namespace weft::live
