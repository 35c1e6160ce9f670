// The whole daemon: journal, controller, agents and the interface, joined.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "live/daemon/api.h"
#include "live/daemon/brain.h"
#include "live/daemon/budgets.h"
#include "live/daemon/fleet.h"
#include "live/daemon/forecasts.h"
#include "live/daemon/holds.h"
#include "live/daemon/local_agents.h"
#include "live/http/server.h"

namespace weft::live {

// A world that is not real: who runs jobs in place of agents, and what time it is. Nothing happens
// by itself then: see Brain::turn(). Requires: `hands` outlives the daemon.
struct OtherWorld {
  Hands* hands = nullptr;
  std::function<Seconds()> clock;  // from any thread
};

struct DaemonOptions {
  std::string store;  // folder
  Cluster cluster;
  std::string cluster_text;  // as the journal keeps it
  // Null: the one that was last in force on this store, or else the usual one.
  std::unique_ptr<Policy> policy;
  std::string policy_text;
  std::string program;  // version
  Seconds lease_s = 10;
  Seconds reclaim_idle_s = kNever;  // see Watch
  std::vector<std::string> queues;  // whose numbers the policy knows, by number
  std::optional<BudgetTable> budgets;
  // Agents on this machine, started and kept by the daemon: the program to run. Empty: agents come
  // by themselves.
  std::vector<std::string> agent_command;
  // Local agents run their ranks in network namespaces, one for each node (node_networks.h).
  bool namespaces = false;
  std::uint64_t image_every = 20'000;
  std::optional<OtherWorld> other_world;
  // Where agents come to, host:port; beyond this machine what is said there is encrypted. Empty:
  // 127.0.0.1, at the port of the last time.
  std::string agents_at;
  // TCP beside the unix socket: host:port, and files for TLS. Empty: none.
  std::string listen, certificate, key;
  std::shared_ptr<const Forecaster> forecaster = nullptr;  // shared with whoever made it; or none
};

inline constexpr const char* kUsualPolicy = "backfill";

// Files of a store.
std::string socket_of(const std::string& store);
// Where stores are unless somebody says otherwise: /var/lib/weft for root, else in the home.
std::string default_store();

class Daemon {
 public:
  // Error: another daemon runs on the store, it cannot be read, …
  static Result<std::unique_ptr<Daemon>> start(DaemonOptions options);
  ~Daemon();

  // Returns when somebody asked for the end through the interface, `stop_now` became true, or the
  // journal can be written no more: then the error says why. Whoever asks through the interface and
  // is in no hurry has all jobs stopped by their checkpoint signals before; they wait again.
  Status wait(const std::atomic<bool>& stop_now);
  // Ends local agents too, and with them their ranks; without, all go on until the next daemon.
  void stop_agents();

  // For agents on this machine: host:port.
  const std::string& agents_at() const { return agents_near_; }
  const std::string& secret_file() const { return secret_file_; }
  std::uint64_t term() const { return journal_->term(); }
  std::size_t jobs() const { return board_->size(); }
  std::string policy_name() const { return brain_->policy_name(); }
  Brain& brain() { return *brain_; }
  DurableJournal& journal() { return *journal_; }
  std::string url() const { return server_->url(); }  // empty: no TCP

 private:
  Daemon() = default;
  Status open(DaemonOptions options);
  Status open_secret();
  Status open_fleet(const DaemonOptions& options);
  Status recover(const DaemonOptions& options);
  Status begin_holds();
  void give_up_failed(const EventRecord& record);
  Status choose_policy(DaemonOptions& options);
  Status start_agents(const DaemonOptions& options);
  int kept_port() const;
  void drain(const std::atomic<bool>& stop_now);

  std::string store_, secret_file_, agents_near_;
  int lock_ = -1;
  runtime::Secret secret_;
  Cluster cluster_;
  std::shared_ptr<const Policy> policy_;  // with the brain, which may exchange it
  std::atomic<bool> asked_to_stop_ = false, stops_now_ = false, over_ = false;
  std::mutex mutex_;
  Error why_over_;

  // Destroyed from the last to the first: who is called goes after who calls.
  std::unique_ptr<Board> board_;
  std::unique_ptr<Fleet> fleet_;
  std::unique_ptr<DurableJournal> journal_;
  std::unique_ptr<Budgets> budgets_;
  std::unique_ptr<Holds> holds_;
  std::unique_ptr<Brain> brain_;
  std::atomic<bool> budgets_changed_ = false;
  std::unique_ptr<Forecasts> forecasts_;
  Tenants tenants_;
  Tokens tokens_;
  std::unique_ptr<UsageBook> usage_;
  std::unique_ptr<Api> api_;
  std::unique_ptr<HttpServer> server_;
  std::unique_ptr<LocalAgents> agents_;
};

}  // namespace weft::live
