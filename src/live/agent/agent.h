// The agent of a node: joins the controller's cluster, runs ranks and enforces their shares
// (docs/agents.md). It holds no policy.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <thread>
#include <vector>

#include "live/agent/node_facts.h"
#include "live/agent/run_table.h"
#include "runtime/net/connection.h"

namespace weft::live {

struct AgentSettings {
  std::string controller;  // host:port
  runtime::Secret secret;  // of the cluster
  bool encrypt = false;    // what is said to the controller and by it; one side is enough
  NodeFacts facts;
  GroupLimits limits;                           // of all ranks together
  std::string folder;                           // absolute
  std::string program;                          // version, for people
  std::vector<std::string> keeper_command;      // starts what serve_keepers() needs
  std::function<void(const std::string&)> log;  // from any thread
};

class Agent {
 public:
  // Error: another agent has the folder, or it cannot be used. A controller that is not there is
  // none: it is looked for until it comes.
  static Result<std::unique_ptr<Agent>> start(AgentSettings settings);
  // Ranks and keepers go on; they end when no agent takes them over within their lease.
  ~Agent();
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

 private:
  using Json = nlohmann::json;

  Agent(AgentSettings settings, std::unique_ptr<runtime::Reactor> reactor, int lock);
  Status open();
  void dial();
  void connect_again(Seconds delay_s);
  void opened();
  void closed(runtime::End end, const std::string& reason);
  void take(runtime::ByteView body);
  Status obey(const std::string& op, const Json& message);
  Status welcome(const Json& message);
  Status check_term(std::uint64_t term);
  void renew(const Json& message);
  void say(const Json& message);
  void send(const Json& message);
  void tick();

  const AgentSettings settings_;
  const FolderPaths paths_;
  const std::string boot_;
  std::unique_ptr<runtime::Reactor> reactor_;
  const int lock_;
  std::unique_ptr<RunTable> table_;

  // On the reactor's thread.
  std::shared_ptr<runtime::Connection> connection_;
  bool welcomed_ = false, ending_ = false;
  std::uint64_t term_ = 0;
  Seconds backoff_s_ = 0;
  std::int64_t heard_at_ns_ = 0, usage_at_ns_ = 0;

  // Names are looked up on a thread of their own, because that may take seconds.
  std::mutex mutex_;
  std::condition_variable changed_;
  bool dial_now_ = false, dialer_ends_ = false;  // under mutex_
  std::thread dialer_;
};

}  // namespace weft::live
