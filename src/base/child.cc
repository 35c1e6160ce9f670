#include "base/child.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>

#include "base/stopwatch.h"

extern char** environ;

namespace weft {
namespace {

// Closes what it holds.
struct ChildDescriptor {
  int fd = -1;
  ChildDescriptor() = default;
  explicit ChildDescriptor(int number) : fd(number) {}
  ChildDescriptor(const ChildDescriptor&) = delete;
  ChildDescriptor& operator=(const ChildDescriptor&) = delete;
  ~ChildDescriptor() { close_now(); }
  void close_now() {
    if (fd >= 0) close(fd);
    fd = -1;
  }
};

Error cannot(const std::string& program, int number) {
  return {ErrorKind::kIo, fmt::format("{} cannot be run: {}", program, std::strerror(number)), ""};
}

// Starts the program with the pipe's end as its standard output; returns 0 or an error number.
int spawn(const std::vector<std::string>& command, int output, pid_t& child) {
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  const int failed = posix_spawnp(&child, words[0], &actions, nullptr, words.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  return failed;
}

// Takes what the pipe holds now. False: nothing more will come.
bool drain(int fd, std::size_t limit_bytes, std::string& out) {
  char buffer[65536];
  while (true) {
    const ssize_t got = read(fd, buffer, sizeof buffer);
    if (got == 0) return false;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno == EAGAIN;
    out.append(buffer, std::min(static_cast<std::size_t>(got), limit_bytes - out.size()));
  }
}

// One program under way.
struct Child {
  pid_t pid = 0;
  ChildDescriptor ended, output;  // readable when it has ended, and its standard output
  ChildEnd end;
  bool gone = false;

  void take_code() {
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    end.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    gone = true;
  }
};

Status start(const std::vector<std::string>& command, Child& child) {
  CHECK(!command.empty());
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return cannot(command[0], errno);
  child.output.fd = ends[0];
  const ChildDescriptor to(ends[1]);
  fcntl(child.output.fd, F_SETFL, O_NONBLOCK);
  if (const int failed = spawn(command, to.fd, child.pid); failed != 0) {
    child.gone = true;
    return cannot(command[0], failed);
  }
  // By number: the header of glibc 2.36 does not declare its function for C++.
  child.ended.fd = static_cast<int>(syscall(SYS_pidfd_open, child.pid, 0));
  return {};
}

// Whatever is still running is killed.
void end_all(std::deque<Child>& children, bool timed_out, std::size_t limit_bytes) {
  for (Child& child : children) {
    if (!child.gone) {
      kill(child.pid, SIGKILL);
      child.end.timed_out = timed_out;
      child.take_code();
    }
    drain(child.output.fd, limit_bytes, child.end.out);
  }
}

// Gathers output until all have ended or the deadline has come, which is nearer once one has
// failed.
void follow(std::deque<Child>& children, double timeout_s, std::size_t limit_bytes,
            bool& one_failed) {
  std::int64_t deadline = monotonic_ns() + static_cast<std::int64_t>(timeout_s * 1e9);
  std::vector<pollfd> watched;
  for (const Child& child : children) {
    if (child.ended.fd < 0) return;
    watched.push_back({child.ended.fd, POLLIN, 0});
    watched.push_back({child.output.fd, POLLIN, 0});
  }
  std::size_t running = children.size();
  while (running > 0) {
    const std::int64_t left_ms = (deadline - monotonic_ns()) / 1'000'000;
    if (left_ms <= 0) return;
    poll(watched.data(), watched.size(),
         static_cast<int>(std::min<std::int64_t>(left_ms + 1, 1'000'000)));
    for (std::size_t i = 0; i < children.size(); ++i) {
      pollfd &ended = watched[2 * i], &output = watched[2 * i + 1];
      if (output.fd >= 0 && output.revents != 0 &&
          !drain(output.fd, limit_bytes, children[i].end.out)) {
        output.fd = -1;  // it closed its output; poll passes over negative numbers
      }
      if (ended.fd < 0 || ended.revents == 0) continue;
      ended.fd = -1;
      --running;
      children[i].take_code();
      if (children[i].end.code == 0 || one_failed) continue;
      one_failed = true;
      deadline = std::min(deadline, monotonic_ns() + static_cast<std::int64_t>(kGroupGraceS * 1e9));
    }
  }
}

}  // namespace

Result<ChildEnd> run_child(const std::vector<std::string>& command, double timeout_s,
                           std::size_t limit_bytes) {
  auto ends = run_children({command}, timeout_s, limit_bytes);
  if (!ends.ok()) return ends.error();
  return std::move((*ends)[0]);
}

Result<std::vector<ChildEnd>> run_children(const std::vector<std::vector<std::string>>& commands,
                                           double timeout_s, std::size_t limit_bytes) {
  CHECK(!commands.empty() && timeout_s > 0);
  std::deque<Child> children;
  for (const auto& command : commands) {
    if (const Status started = start(command, children.emplace_back()); !started.ok()) {
      children.pop_back();
      end_all(children, /*timed_out=*/false, limit_bytes);
      return started.error();
    }
  }
  bool one_failed = false;
  follow(children, std::min(timeout_s, 1e9), limit_bytes, one_failed);
  end_all(children, /*timed_out=*/!one_failed, limit_bytes);
  std::vector<ChildEnd> ends;
  for (Child& child : children) ends.push_back(std::move(child.end));
  return ends;
}

}  // namespace weft
