#include "base/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/stopwatch.h"

extern char** environ;

namespace weft {
namespace {

// Closes what it holds.
struct Descriptor {
  int fd = -1;
  Descriptor() = default;
  explicit Descriptor(int number) : fd(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { close_now(); }
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
  const int failed = posix_spawn(&child, words[0], &actions, nullptr, words.data(), environ);
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

// Gathers output until the child has ended (true) or the deadline has come.
bool follow(int ended, int output, double timeout_s, std::size_t limit_bytes, std::string& out) {
  const std::int64_t deadline = monotonic_ns() + static_cast<std::int64_t>(timeout_s * 1e9);
  pollfd watched[] = {{ended, POLLIN, 0}, {output, POLLIN, 0}};
  while (true) {
    const std::int64_t left_ms = (deadline - monotonic_ns()) / 1'000'000;
    if (left_ms <= 0) return false;
    poll(watched, 2, static_cast<int>(std::min<std::int64_t>(left_ms + 1, 1'000'000)));
    if (watched[1].fd >= 0 && watched[1].revents != 0 && !drain(output, limit_bytes, out)) {
      watched[1].fd = -1;  // it closed its output; poll passes over negative numbers
    }
    if (watched[0].revents != 0) return true;
  }
}

}  // namespace

Result<ChildEnd> run_child(const std::vector<std::string>& command, double timeout_s,
                           std::size_t limit_bytes) {
  CHECK(!command.empty() && timeout_s > 0);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return cannot(command[0], errno);
  Descriptor from(ends[0]), to(ends[1]);
  fcntl(from.fd, F_SETFL, O_NONBLOCK);
  pid_t child = 0;
  if (const int failed = spawn(command, to.fd, child); failed != 0) {
    return cannot(command[0], failed);
  }
  to.close_now();
  // By number: the header of glibc 2.36 does not declare its function for C++.
  const Descriptor ended(static_cast<int>(syscall(SYS_pidfd_open, child, 0)));
  ChildEnd end;
  end.timed_out =
      ended.fd < 0 || !follow(ended.fd, from.fd, std::min(timeout_s, 1e9), limit_bytes, end.out);
  if (end.timed_out) kill(child, SIGKILL);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  drain(from.fd, limit_bytes, end.out);
  end.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return end;
}

}  // namespace weft
