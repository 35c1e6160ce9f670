#include "runtime/launch/child_process.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include "base/delimited.h"

namespace weft::runtime {
namespace {

bool is_program(const std::string& path) {
  struct stat facts = {};
  return stat(path.c_str(), &facts) == 0 && S_ISREG(facts.st_mode) &&
         access(path.c_str(), X_OK) == 0;
}

Error cannot_start(const std::string& program, int number) {
  return {ErrorKind::kIo, fmt::format("{} cannot be started: {}", program, strerror(number)), ""};
}

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> result;
  for (const std::string& word : words) result.push_back(const_cast<char*>(word.c_str()));
  result.push_back(nullptr);
  return result;
}

// The attributes and file actions of one start; released with it.
class Spawner {
 public:
  Spawner() {
    posix_spawnattr_init(&attributes_);
    posix_spawn_file_actions_init(&actions_);
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setsigdefault(&attributes_, &all);
    posix_spawnattr_setflags(
        &attributes_,
        static_cast<short>(POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF));
  }
  ~Spawner() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }
  Spawner(const Spawner&) = delete;
  Spawner& operator=(const Spawner&) = delete;

  int start(const ChildPlan& plan, int input, pid_t& pid) {
    if (input >= 0) {
      posix_spawn_file_actions_adddup2(&actions_, input, STDIN_FILENO);
    } else {
      posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    }
    constexpr int kAppend = O_WRONLY | O_CREAT | O_APPEND;
    posix_spawn_file_actions_addopen(&actions_, STDOUT_FILENO, plan.out_path.c_str(), kAppend,
                                     0644);
    posix_spawn_file_actions_addopen(&actions_, STDERR_FILENO, plan.err_path.c_str(), kAppend,
                                     0644);
    posix_spawn_file_actions_addclosefrom_np(&actions_, STDERR_FILENO + 1);
    return posix_spawn(&pid, plan.program.c_str(), &actions_, &attributes_,
                       pointers(plan.words).data(), pointers(plan.environment).data());
  }

 private:
  posix_spawnattr_t attributes_;
  posix_spawn_file_actions_t actions_;
};

}  // namespace

Result<std::string> find_program(const std::string& name) {
  const auto missing = [&](const char* why) {
    return Error{ErrorKind::kNotFound, fmt::format("command {} {}", shown(name), why), ""};
  };
  if (name.find('/') != std::string::npos) {
    struct stat facts = {};
    if (stat(name.c_str(), &facts) != 0) return missing("does not exist");
    if (!is_program(name)) return missing("is not a program that can be executed");
    return name;
  }
  const char* variable = getenv("PATH");
  std::string_view rest = variable != nullptr ? variable : "/usr/local/bin:/usr/bin:/bin";
  while (!name.empty()) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    const std::string folder(end == 0 ? "." : rest.substr(0, end));
    if (is_program(folder + "/" + name)) return folder + "/" + name;
    if (end == rest.size()) break;
    rest.remove_prefix(end + 1);
  }
  return missing("is not found in PATH");
}

Result<ChildProcess> ChildProcess::start(const ChildPlan& plan) {
  CHECK(!plan.words.empty());
  int ends[2] = {-1, -1};
  if (plan.input && pipe2(ends, O_CLOEXEC) != 0) return cannot_start(plan.program, errno);
  ChildProcess child;
  child.input_fd_ = ends[1];
  const int failed = Spawner().start(plan, ends[0], child.pid_);
  if (ends[0] >= 0) close(ends[0]);
  if (failed != 0) return cannot_start(plan.program, failed);
  // By number: the header of glibc 2.36 does not declare its function for C++.
  child.ended_fd_ = static_cast<int>(syscall(SYS_pidfd_open, child.pid_, 0));
  if (child.ended_fd_ < 0) {
    const int number = errno;
    ::kill(-child.pid_, SIGKILL);
    child.reap();
    return cannot_start(plan.program, number);
  }
  // A pipe holds more than a secret, so this neither waits nor comes short; a reader that is gone
  // has exited, which is seen elsewhere.
  if (plan.input) {
    [[maybe_unused]] const ssize_t sent = write(ends[1], plan.input->data(), plan.input->size());
    fcntl(ends[1], F_SETFL, O_NONBLOCK);
  }
  return child;
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      ended_fd_(std::exchange(other.ended_fd_, -1)),
      input_fd_(std::exchange(other.input_fd_, -1)),
      code_(other.code_) {}

ChildProcess::~ChildProcess() {
  if (ended_fd_ >= 0) close(ended_fd_);
  if (input_fd_ >= 0) close(input_fd_);
}

void ChildProcess::signal(int number) {
  if (input_fd_ >= 0 && !code_) {
    const std::string line = fmt::format("{}\n", sigabbrev_np(number));
    [[maybe_unused]] const ssize_t sent = write(input_fd_, line.data(), line.size());
  } else if (number == SIGKILL || code_) {
    ::kill(-pid_, number);
  } else {
    ::kill(pid_, number);
  }
}

void ChildProcess::kill_here() { ::kill(-pid_, SIGKILL); }

std::optional<int> ChildProcess::reap() {
  int status = 0;
  if (!code_ && waitpid(pid_, &status, WNOHANG) == pid_) {
    code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  return code_;
}

bool ChildProcess::group_lives() {
  if (!reap()) return true;
  pid_t ended = 0;
  do {
    ended = waitpid(-pid_, nullptr, WNOHANG);
  } while (ended > 0);
  return ended == 0;
}

Status adopt_orphans() {
  if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0) return {};
  return Error{ErrorKind::kIo, fmt::format("orphans cannot be adopted: {}", strerror(errno)), ""};
}

}  // namespace weft::runtime
