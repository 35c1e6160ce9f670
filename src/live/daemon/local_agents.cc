#include "live/daemon/local_agents.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>

#include "base/files.h"
#include "base/stopwatch.h"

namespace weft::live {
namespace {

constexpr std::int64_t kBackOffNs = 300'000'000;
constexpr auto kCheckAgentsEvery = std::chrono::milliseconds(50);
constexpr int kStopLooks = 200;
constexpr auto kStopPause = std::chrono::milliseconds(10);

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
    // The daemon's sockets must not live on in its agents: who connects would wait for nobody.
    syscall(SYS_close_range, STDERR_FILENO + 1, ~0U, 0);
    execv(words[0], words.data());
    _exit(127);
  }
  if (log >= 0) ::close(log);
  if (nothing >= 0) ::close(nothing);
  return pid;
}

// The agent of the folder, by the file that it leaves there; its number may since be another's.
pid_t at_work_in(const std::string& folder) {
  const auto kept = read_file(path_in(folder, "pid"), 64);
  const pid_t pid = kept.ok() ? static_cast<pid_t>(std::atoi(kept->c_str())) : -1;
  if (pid <= 1) return -1;
  const auto words = read_file("/proc/" + std::to_string(pid) + "/cmdline", 64 << 10);
  const bool is_it = words.ok() && words->find(folder + '\0') != std::string::npos;
  return is_it ? pid : -1;
}

// Children of ours are taken off the kernel's hands, so that they count as gone.
bool lives(pid_t pid) { return waitpid(pid, nullptr, WNOHANG) <= 0 && ::kill(pid, 0) == 0; }

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
    std::this_thread::sleep_for(kCheckAgentsEvery);
  }
}

void LocalAgents::stop() {
  end_ = true;
  if (thread_.joinable()) thread_.join();
  for (Running& agent : agents_) {
    // The one at work may be that of an earlier daemon, and ours one that finds its folder in use.
    std::vector<pid_t> processes;
    if (agent.pid > 0) processes.push_back(agent.pid);
    if (const pid_t other = at_work_in(agent.node.folder); other > 0 && other != agent.pid) {
      processes.push_back(other);
    }
    for (const pid_t pid : processes) ::kill(pid, SIGTERM);
    for (const pid_t pid : processes) {
      for (int i = 0; i < kStopLooks && lives(pid); ++i) std::this_thread::sleep_for(kStopPause);
      if (lives(pid)) ::kill(pid, SIGKILL);
    }
    if (agent.pid > 0) waitpid(agent.pid, nullptr, 0);  // an error: it was taken already
    agent.pid = -1;
  }
}

}  // namespace weft::live
