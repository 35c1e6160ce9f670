// Agents on this machine, one process for each node, started again when they die. They outlive the
// daemon: the next one finds them at work.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

namespace weft::live {

class LocalAgents {
 public:
  struct Node {
    std::string name, folder, log;
    std::vector<std::string> command;
  };
  explicit LocalAgents(std::vector<Node> nodes);
  // Looks after them no longer; they go on.
  ~LocalAgents();
  // Ends them (SIGTERM, after 2 s SIGKILL), those of earlier daemons too.
  void stop();

 private:
  void look_after();
  struct Running {
    Node node;
    pid_t pid = -1;
    std::int64_t next_start_ns = 0;
  };
  std::vector<Running> agents_;
  std::atomic<bool> end_ = false;
  std::thread thread_;
};

}  // namespace weft::live
