// The runs of this node: what was ordered, what its keepers say, what was answered.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "live/agent/control_groups.h"
#include "live/agent/folder.h"
#include "live/agent/keeper_port.h"
#include "live/agent/keeper_server.h"
#include "live/agent/node_execs.h"
#include "live/agent/node_facts.h"
#include "live/agent/rank_setup.h"
#include "live/agent/rank_traffic.h"
#include "live/agent/run_order.h"
#include "runtime/net/reactor.h"

namespace weft::live {

// Everything on the reactor's thread.
class RunTable {
 public:
  using Json = nlohmann::json;
  struct Settings {
    FolderPaths paths;
    NodeFacts facts;
    ControlGroups groups;
    RankTraffic traffic;
    runtime::Secret secret;                        // of the cluster
    std::vector<std::string> keeper_command;       // starts what serve_keepers() needs
    std::function<void(const Json& message)> say;  // to the controller; lost when there is none
    std::function<void(const std::string&)> log;
  };

  RunTable(runtime::Reactor& reactor, Settings settings);
  ~RunTable();
  RunTable(const RunTable&) = delete;
  RunTable& operator=(const RunTable&) = delete;

  // Finds the runs of the agent before. Error: keepers cannot reach us.
  Status open();

  // Commands whose term was checked. Error: the message is not one.
  Status start(const Json& message);
  // stop, resize, freeze, thaw: all with a number and an outcome.
  Status change(const std::string& op, const Json& message);
  Status signal(const Json& message);
  Status save_stacks(const Json& message);
  Status forget(const Json& message);
  // exec and what begins with exec_: commands beside a rank.
  Status exec(const std::string& op, const Json& message);
  // The controller is gone, and with it who wanted them.
  void end_execs(const std::string& why);

  // What is enforced, for a `hello`.
  std::vector<std::string> can() const;
  // The list of a `hello`.
  Json runs() const;
  // Says again how ranks ended that are not forgotten.
  void tell_ends();

  // The controller's lease: ranks that must not outlive it are gone by then. `lease_s` is what
  // ranks get from us.
  void set_lease(std::int64_t until_ns, Seconds lease_s);
  Seconds lease_s() const { return lease_s_; }
  // Renews the keepers' leases and ends what takes too long. To be called several times in a lease.
  void tick();
  // Says what runs use. To be called every second.
  void tell_usage();

 private:
  struct Rank {
    RankShare share;
    RankSetup setup;
    pid_t keeper = -1, command = -1;
    int pidfd = -1;  // of the keeper
    int link = -1;   // to the keeper
    bool executed = false, frozen = false, sweeping = false;
    bool behind = false;  // its keeper still goes by the epoch that this run goes on from
    std::optional<RankEnd> end;
    std::optional<RankEnd> said_end;     // before it could be read
    std::int64_t kill_keeper_at_ns = 0;  // when it does not do its work; 0: no hurry
    double cpu_s = 0;
    Bytes memory = 0;
  };
  struct Run {
    RunOrder order;
    Json message;  // the order as it is on disk
    std::map<int, Rank> ranks;
    std::uint64_t number = 0;
    std::uint64_t from = 0;  // the epoch in which its ranks were frozen; 0: they began in this one
    std::uint64_t marked = 0;               // the epoch in which they began
    std::string op, result, why;            // of the last command; no result: not answered yet
    Json stop;                              // for keepers that are to come back
    bool stopping = false, active = false;  // active: this process works on `op`
    std::int64_t used_at_ns = 0;            // when it last used more than a hundredth of its share
    std::int64_t measured_at_ns = 0;
    double seen_cpu_s = 0;
  };

  // run_table.cc: commands.
  void adopt(RunKey key);
  std::string refusal(const RunOrder& order, std::uint64_t from) const;
  Status begin(const Json& message, RunOrder order);
  bool is_repeated(Run& run, const std::string& op, std::uint64_t number);
  void begin_stop(Run& run, const Json& message);
  void set_stop(Run& run, int signal, Seconds grace_s);
  void resize(Run& run, const Json& message);
  void freeze(Run& run, bool frozen);

  // run_execs.cc: commands beside ranks.
  void open_execs();
  // Why none can begin there; empty: it can.
  std::string exec_refusal(const RunKey& key, int rank);

  // run_moves.cc: frozen runs that go on.
  std::string refusal_to_go_on(const RunOrder& order, std::uint64_t from) const;
  Status go_on(const Json& message, RunOrder order, std::uint64_t from);
  void tell_to_go_on(const Run& run, Rank& rank);
  std::optional<ClaimFacts> claim_of(const Run& run, Rank& rank) const;
  Run* run_of_keeper(const RunKey& key);

  // run_answers.cc: what is said.
  void conclude(Run& run);
  void measure(Rank& rank);
  void answer(Run& run, const std::string& result, const std::string& why);
  void say_outcome(const RunKey& key, std::uint64_t number, const std::string& result,
                   const std::string& why);
  void say_end(const Run& run, const Rank& rank);
  void remember(const Run& run);

  // run_ranks.cc: keepers.
  Status sync_order(const RunKey& key);
  void plan(const Run& run, Rank& rank);
  // Leaves the secret of its group for its user.
  Status write_secret(const RunOrder& order) const;
  GroupLimits limits_of(const RankShare& share) const;
  int free_traffic_class() const;
  Status prepare(const Rank& rank) const;
  Status set_traffic(const Rank& rank) const;
  void spawn_keeper(Run& run, Rank& rank);
  void watch(Run& run, Rank& rank, pid_t keeper);
  void await_keeper(const Run& run, Rank& rank);
  void look_again(const RunKey& key, int rank);
  void tell(Rank& rank, const Json& message);
  void tell_lease(const Run& run, Rank& rank, const char* word);
  void stop_rank(const Run& run, Rank& rank);
  void keeper_came(int link, pid_t peer, const Json& message);
  void keeper_said(int link, const Json& message);
  void link_ended(int link);
  void keeper_ended(const RunKey& key, int rank);
  void settle(Run& run, Rank& rank);
  void sweep(const RunKey& key, int rank, const std::optional<RankEnd>& end);
  void set_end(Run& run, Rank& rank, const RankEnd& end, bool write);
  void release(Rank& rank);
  Run* find(const RunKey& key);
  Rank* find(const RunKey& key, int rank);

  runtime::Reactor& reactor_;
  Settings settings_;
  std::unique_ptr<KeeperPort> port_;
  std::unique_ptr<KeeperServer> server_;
  std::unique_ptr<NodeExecs> execs_;
  std::map<RunKey, Run> runs_;
  std::map<int, std::pair<RunKey, int>> links_;  // by descriptor
  std::map<std::string, std::uint64_t> newest_;  // epoch of each uuid that was here
  std::set<RunKey> over_;                        // claimed or stopped here, and not in runs_
  std::int64_t controller_until_ns_ = 0;
  Seconds lease_s_ = 10;
  std::shared_ptr<int> life_ = std::make_shared<int>(0);  // timers look whether we still are
};

}  // namespace weft::live
