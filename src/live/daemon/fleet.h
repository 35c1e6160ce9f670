// The agents of a cluster as the controller sees them: who is there, who is silent, and the way to
// them (docs/agents.md).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "live/agent/json_fields.h"
#include "live/daemon/engine.h"
#include "live/daemon/execs.h"
#include "live/daemon/replicas.h"
#include "live/daemon/runs.h"
#include "live/daemon/watch.h"
#include "runtime/net/listener.h"
#include "runtime/net/reactor.h"

namespace weft::live {

struct FleetOptions {
  std::string address = "127.0.0.1:0";  // where agents come to
  bool encrypt = false;                 // what is said to them and by them
  runtime::Secret secret;
  Seconds lease_s = 10;
  Seconds suspect_s = 3;            // silence after which a node gets no new work
  Seconds return_s = 10;            // and after which, of one that was there before a restart
  std::string log_root;             // folder of the jobs' output
  Seconds reclaim_idle_s = kNever;  // after which a job that uses nothing makes room for others
};

// What is known of a node's agent.
struct AgentView {
  bool connected = false;
  Seconds silent_s = 0;
  std::string program, address;
  std::vector<std::string> can;
  std::uint32_t cpu_milli = 0;
  Bytes memory = 0;
  std::size_t devices = 0;
};

// Thread-safe.
class Fleet : public Engine {
 public:
  // Requires: the cluster outlives this.
  static Result<std::unique_ptr<Fleet>> open(const Cluster& cluster, FleetOptions options);
  ~Fleet() override;

  int port() const { return listener_->port(); }
  const runtime::Secret& secret() const { return options_.secret; }
  // After recovery and before the brain begins: takes over what the board says runs, and waits for
  // agents from now on. Requires: both outlive this.
  void begin(EventSink& brain, Board& board, std::uint64_t term);
  // Agents are told nothing more.
  void end();

  void carry_out(const KeptCommand& command, const JobView& job) override;
  // What agents can do as root; each names in its hello what it enforces (docs/agents.md).
  static const EngineStatement& local();
  const EngineStatement& statement() const override { return local(); }
  void signal(const std::string& uuid, int number) override;
  std::vector<EngineRun> list(std::uint64_t since) override;
  // An operator says that nothing runs there any more.
  void fence(NodeId node, const std::string& why);
  // The node will be taken away at that time of the controller's clock.
  void leave(NodeId node, Seconds at);
  // No ranks are held frozen any more: they save and end.
  void end_frozen(const std::string& why);
  std::vector<AgentView> agents();

  // A command beside a rank of a job (execs.h).
  struct ExecWish {
    JobView job;
    std::string run;  // uuid of the job, or of one of its replicas
    int rank = 0;
    ExecCommand command;
    Caller caller;
  };
  // Answers 404 for a rank that is none, 409 if it does not run, else as Execs::open(); tells who
  // did it in the story.
  void exec(const ExecWish& wish, const Execs::Answer& answer);
  // Calls `act` with the sessions there are and the time they count by, on a thread of its own; if
  // nothing runs here, answers so.
  void with_execs(const Execs::Answer& answer, std::function<void(Execs&, Seconds now)> act);

 private:
  using Json = nlohmann::json;
  struct Link {
    std::shared_ptr<runtime::Connection> connection;
    AgentView view;
    std::int64_t heard_ns = 0;  // last, monotonic
    double agent_now_s = 0;     // the agent's clock in it
    bool suspect = true;        // the controller believes it out of service
    bool expired = false;       // its lease is over and was acted upon
    bool awaited = false;       // was in service before a restart, and has not come yet
  };

  Fleet(const Cluster& cluster, FleetOptions options);
  void accepted(const std::shared_ptr<runtime::Connection>& connection);
  void take(const std::shared_ptr<runtime::Connection>& connection, runtime::ByteView body);
  void hello(const std::shared_ptr<runtime::Connection>& connection, const Json& message);
  void listen(NodeId node, const std::string& op, const Json& message);
  void send(NodeId node, const Json& message);
  void look_round();
  // fleet_return.cc: nodes whose agents are not here yet.
  void await_nodes();
  void node_is_here(NodeId node);
  void forgive_own_silence();
  void exec_here(const ExecWish& wish, const Execs::Answer& answer);
  // fleet_reports.cc: what runs tell of themselves.
  void hear_of_progress(const std::string& uuid, std::uint32_t epoch, JsonFields& fields);
  void hear_of_usage(NodeId node, JsonFields run);
  void hear_of_exec(NodeId node, const std::string& op, const Json& message);
  void lose_execs(NodeId node, const std::string& why);
  // fleet_frozen.cc: ranks that are held while their job waits.
  void look_at_frozen();
  void end_frozen_on(NodeId node, const std::string& why);
  Seconds frozen_grace_s(const std::string& uuid) const;
  void post_node(NodeId node, EventKind kind, const std::string& why);
  NodeId node_named(const std::string& name) const;

  const Cluster& cluster_;
  FleetOptions options_;
  std::map<std::string, NodeId> by_name_;
  // On the reactor's thread.
  EventSink* brain_ = nullptr;
  Board* board_ = nullptr;
  std::uint64_t term_ = 0;
  std::vector<Link> links_;  // by node
  std::unique_ptr<Runs> runs_;
  std::unique_ptr<Replicas> replicas_;
  std::unique_ptr<Watch> watch_;
  std::unique_ptr<Execs> execs_;
  int looks_ = 0;
  std::int64_t looked_ns_ = 0;                                            // last, monotonic
  std::map<std::pair<std::string, std::uint32_t>, std::int64_t> starts_;  // when asked first
  std::unique_ptr<runtime::Listener> listener_;
  std::unique_ptr<runtime::Reactor> reactor_;  // goes first: its thread uses all of the above
};

}  // namespace weft::live
