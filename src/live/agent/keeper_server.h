// The process from which keepers are forked. It has loaded the program and does nothing else, so a
// keeper is there in less time than a program takes to load, and with one thread forking is safe.
#pragma once

#include <sys/types.h>

#include <array>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "live/agent/run_order.h"

namespace weft::live {

// Serves the agent at the other end of standard input until that is gone; keepers that were forked
// go on. Returns in the server and in each keeper once it is over: the process ends with this code.
// `title`: the part of the command line into which a keeper writes whose it is.
// Requires: the only thread of the process.
int serve_keepers(const std::string& folder, std::span<char> title);

// The agent's end. On the reactor's thread.
class KeeperServer {
 public:
  // `command`: starts a process that calls serve_keepers(); the folder and room for the title are
  // added to it.
  KeeperServer(std::vector<std::string> command, std::string folder, std::string log)
      : command_(std::move(command)), folder_(std::move(folder)), log_(std::move(log)) {}
  ~KeeperServer();
  KeeperServer(const KeeperServer&) = delete;
  KeeperServer& operator=(const KeeperServer&) = delete;

  // Starts the process unless it is there, so that it has loaded before it is needed.
  Status start();
  // Asks for a keeper and returns our end of the link to it. A keeper that never comes into being
  // shows as an end of the link. Error: there is no server, and none can be started.
  Result<int> fork_keeper(const RunKey& key, int rank);
  // The same of a process that keeps a command beside the rank (exec_keeper.h). `streams`: the
  // command's input, output and errors, which stay ours too.
  Result<int> fork_exec_keeper(const RunKey& key, int rank, const std::string& id,
                               const std::array<int, 3>& streams);

 private:
  Result<int> fork(const std::string& request, std::span<const int> streams);
  void end();

  const std::vector<std::string> command_;
  const std::string folder_, log_;
  pid_t pid_ = -1;
  int socket_ = -1;
};

}  // namespace weft::live
