// Which ranks of which runs are where, as far as agents have said; turns commands of the controller
// into messages to agents, and what agents say into events. Holds no socket, thread or clock.
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "control/persist.h"
#include "live/daemon/board.h"
#include "live/daemon/engine.h"
#include "live/daemon/frozen_runs.h"
#include "live/job/job_spec.h"

namespace weft::live {

// The world on both sides. Messages to nodes that are not there are lost: resume() sends again what
// is wanted once a node is back.
struct RunsLinks {
  std::function<void(NodeId, const nlohmann::json&)> send;
  // Where ranks of other nodes reach those of this one; empty: on the same machine.
  std::function<std::string(NodeId)> address;
  // `durable` is called when the event is in the journal.
  std::function<void(EventRecord, std::function<void()> durable)> post;
  std::function<Seconds()> now;  // the controller's clock
  // Whether the node takes work; without it, all do.
  std::function<bool(NodeId)> in_service = nullptr;
  // None of the job's ranks are frozen any more.
  std::function<void(JobId, const std::string& why)> frozen_gone = nullptr;
  // What the start of a run has to say beyond what every run is told; without it, nothing.
  std::function<void(const std::string& uuid, nlohmann::json& start)> dress = nullptr;
};

// Where a rank is, as far as it is known.
struct RankPlace {
  std::uint32_t epoch = 0;
  int ranks = 0;          // of the run; 0: there is none that is to go on
  NodeId node = kNoNode;  // none: it has no such rank
  std::string run = "";   // uuid of the run it is in
};

// For whatever the ranks of one start of a job serve themselves.
std::string port_of(const std::string& uuid, std::uint32_t epoch);

// Ends the `why` of a failure.
std::string again_after(Seconds pause);

class Runs {
 public:
  // Requires: the cluster outlives this. `log_root`: of the ranks' output, by uuid.
  Runs(const Cluster& cluster, std::uint64_t term, std::string log_root, RunsLinks links)
      : cluster_(cluster),
        term_(term),
        log_root_(std::move(log_root)),
        links_(std::move(links)),
        frozen_(cluster, term, {links_.send, [this](const std::string& uuid, const FrozenRun& run) {
                                  frozen_ranks_left(uuid, run);
                                }}) {}
  Runs(const Runs&) = delete;
  Runs& operator=(const Runs&) = delete;

  // A run that the journal knows of: the controller came back.
  void adopt(const JobView& job);
  // A command of the controller; the same may come again.
  void carry_out(const KeptCommand& command, const JobView& job);

  // What an agent says. Unknown runs are ignored.
  void outcome(NodeId node, const std::string& uuid, std::uint32_t epoch, std::uint32_t number,
               const std::string& result, const std::string& why);
  void ended(NodeId node, const std::string& uuid, std::uint32_t epoch, int rank, int code,
             int signal, const std::string& why);
  // The node is (back) here, with these runs: `runs` of its hello.
  void resume(NodeId node, const nlohmann::json& runs);
  // Nothing runs there any more, for sure: its agent's lease is over, or somebody says so. With
  // `all` false only runs that end with their controller.
  void gone(NodeId node, bool all, const std::string& why);
  // A start that some node has not answered is given up.
  void give_up(const std::string& uuid, std::uint32_t epoch, const std::string& why);
  // It makes no step any more: ended, as a failure of its own, and wanted on other nodes.
  void hung(const std::string& uuid, std::uint32_t epoch, const std::string& why);
  // Has agents save the stacks of all ranks.
  void stacks(const std::string& uuid, std::uint32_t epoch, const std::string& why);
  // A signal to all ranks of a run.
  bool signal(const std::string& uuid, int number);

  // Ranks that are held; end_frozen() asks them to save and end.
  const FrozenRuns& frozen() const { return frozen_; }
  void end_frozen(const std::string& uuid, const std::string& why) { frozen_.end(uuid, why); }
  // Stops what could not be frozen in time. To be called several times a second.
  void tick();

  std::size_t size() const { return runs_.size(); }
  RankPlace place_of(const std::string& uuid, int rank) const;
  // As Engine::list().
  std::vector<EngineRun> list(std::uint64_t since);

 private:
  using Json = nlohmann::json;
  using Key = std::pair<std::string, std::uint32_t>;  // uuid, epoch

  // The ranks of one node.
  struct Part {
    std::vector<Json> ranks;  // as the agent is told
    int first_rank = 0;
    bool started = false, gone = false, frozen = false;
    std::map<int, std::string> ends;  // by rank: empty if it ended well, else why it did not
  };
  struct Run {
    JobId job = kNoJob;
    JobIdentity identity;
    JobSpec spec;
    std::string codec, sync;   // of the chosen configuration
    std::uint32_t number = 0;  // of the newest command
    enum class Aim { kRun, kFreeze, kStop, kAbandon } aim = Aim::kRun;
    bool started = false;  // the controller has been told
    bool told = false;     // its end is told, or under way to the journal
    bool was_stop_asked = false;
    std::uint32_t thaws = 0;  // the frozen epoch whose ranks it goes on with; 0: they are new
    bool waits = false;       // with its start, until frozen ranks are gone
    Seconds freeze_by = 0;    // kFreeze: when it is stopped instead
    std::string why;          // it is abandoned
    NodeId failed_on = kNoNode;
    bool own_failure = false;         // of the job, not of what runs it
    std::uint32_t failures = 0;       // of its own, before this run
    std::uint32_t failed_in_row = 0;  // the last of them
    Seconds since = 0;                // when it began, as far as this daemon knows
    std::map<NodeId, Part> parts;
  };

  Run make(const JobView& job, const Allocation& held, std::uint32_t number) const;
  void send_start(NodeId node, const Key& key, const Run& run);
  static std::uint32_t stop_number(const Run& run);
  void send_stop(NodeId node, const Key& key, const Run& run);
  void send_forget(NodeId node, const Key& key);
  void part_is_gone(const Key& key, Run& run, NodeId node);
  void abandon(const Key& key, Run& run, NodeId node, const std::string& why, bool own = false);
  // Tells the controller what has come to an end.
  void settle(const Key& key, Run& run);
  void tell(const Key& key, Run& run, Event event, std::string why, bool over);
  // The run has crashed: what of it the controller has to know before.
  void tell_crash(const Key& key, Run& run);
  void stop_stranger(NodeId node, const Json& run);

  // runs_freeze.cc: preemption without an end.
  static RunShape shape_of(const Run& run);
  static FrozenRun frozen_form(const Run& run, std::uint32_t epoch);
  void adopt_frozen(const JobView& job);
  bool may_freeze(const Key& key, const Run& run, const JobView& job) const;
  void freeze(const Key& key, Run& run);
  void send_freeze(NodeId node, const Key& key);
  void keep_frozen(const Key& key, Run& run);
  void stop_instead(const Key& key, Run& run);
  // How a run begins whose job has frozen ranks: with them, or after them.
  void meet_frozen(const Key& key, Run& run);
  // A run that was to go on with frozen ranks does not: they go too.
  void leave_frozen(const Key& key, const Run& run);
  void frozen_ranks_left(const std::string& uuid, const FrozenRun& run);
  std::string frozen_where(const RunShape& shape) const;

  const Cluster& cluster_;
  std::uint64_t term_;
  std::string log_root_;
  RunsLinks links_;
  std::map<Key, Run> runs_;
  FrozenRuns frozen_;
  std::map<Key, EngineRun> listed_;  // as last listed
  std::uint64_t last_change_ = 0;
};

}  // namespace weft::live
