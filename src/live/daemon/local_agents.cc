#include "live/daemon/local_agents.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>

#include "base/files.h"
#include "base/stopwatch.h"

namespace weft::live {
namespace {

constexpr std::int64_t kBackOffNs = 300'000'000;
constexpr auto kLookEvery = std::chrono::milliseconds(50);

// In a session of its own, so that nothing that ends the daemon ends it.
pid_t start(const LocalAgents::Node& node) {
  std::vector<char*> words;
  for (const std::string& word : node.command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  const int log = ::open(node.log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  const pid_t pid = fork();
  if (pid == 0) {
    setsid();
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    dup2(nothing, STDIN_FILENO);
    dup2(log, STDOUT_FILENO);
    dup2(log, STDERR_FILENO);
    execv(words[0], words.data());
    _exit(127);
  }
  if (log >= 0) ::close(log);
  if (nothing >= 0) ::close(nothing);
  return pid;
}

}  // namespace

LocalAgents::LocalAgents(std::vector<Node> nodes) {
  for (Node& node : nodes) agents_.push_back({std::move(node), -1, 0});
  thread_ = std::thread([this] { look_after(); });
}

LocalAgents::~LocalAgents() {
  end_ = true;
  if (thread_.joinable()) thread_.join();
}

void LocalAgents::look_after() {
  while (!end_) {
    for (Running& agent : agents_) {
      // One that finds its folder in use ends at once: an agent of an earlier daemon is there.
      if (agent.pid > 0 && waitpid(agent.pid, nullptr, WNOHANG) != 0) {
        agent.pid = -1;
        agent.next_start_ns = monotonic_ns() + kBackOffNs;
      }
      if (agent.pid < 0 && monotonic_ns() >= agent.next_start_ns) agent.pid = start(agent.node);
    }
    std::this_thread::sleep_for(kLookEvery);
  }
}

void LocalAgents::stop(const std::string& nodes_folder) {
  end_ = true;
  if (thread_.joinable()) thread_.join();
  for (Running& agent : agents_) {
    pid_t pid = agent.pid;
    if (pid <= 0) {
      const auto kept = read_file(path_in(path_in(nodes_folder, agent.node.name), "pid"), 64);
      pid = kept.ok() ? static_cast<pid_t>(std::atoi(kept->c_str())) : -1;
    }
    if (pid > 1) ::kill(pid, SIGTERM);
    for (int i = 0; agent.pid > 0 && i < 200; ++i) {
      if (waitpid(agent.pid, nullptr, WNOHANG) != 0) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      if (i == 198) ::kill(agent.pid, SIGKILL);
    }
    agent.pid = -1;
  }
}

}  // namespace weft::live
