#include "live/agent/rank_process.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <grp.h>
#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "live/agent/exec_arguments.h"

namespace weft::live {
namespace {

constexpr int kCannotExec = 126, kNoSuchProgram = 127;

void reset_signals() {
  for (int number = 1; number < _NSIG; ++number) signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

bool join_groups(const CommandPlan& plan, std::string& what) {
  for (const std::string& path : plan.group_files) {
    what = "cannot join the control group " + path;
    const int file = open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (file < 0) return false;
    const bool joined = write(file, "0", 1) == 1;
    close(file);
    if (!joined) return false;
  }
  return true;
}

bool limit(const CommandPlan& plan, std::string& what) {
  if (plan.data_limit > 0) {
    what = "cannot limit the memory";
    const rlimit most = {static_cast<rlim_t>(plan.data_limit),
                         static_cast<rlim_t>(plan.data_limit)};
    if (setrlimit(RLIMIT_DATA, &most) != 0) return false;
  }
  if (!plan.cpus.empty()) {
    what = "cannot choose the processors";
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const int cpu : plan.cpus) CPU_SET(static_cast<std::size_t>(cpu), &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0) return false;
  }
  return true;
}

bool enter_network(const CommandPlan& plan, std::string& what) {
  if (plan.network_space.empty()) return true;
  what = fmt::format("cannot enter the network {}", plan.network_space);
  const int space = open(plan.network_space.c_str(), O_RDONLY | O_CLOEXEC);
  if (space < 0) return false;
  const bool entered = setns(space, CLONE_NEWNET) == 0;
  const int number = errno;
  close(space);
  errno = number;
  return entered;
}

gid_t group_of(const CommandPlan& plan) {
  return plan.gid < 0 ? static_cast<gid_t>(plan.uid) : static_cast<gid_t>(plan.gid);
}

bool changes_user(const CommandPlan& plan) { return geteuid() == 0 && plan.uid >= 0; }

// Reads files and loads what knows of users, so it comes before the rank has only its own share of
// the processors.
bool take_user_groups(const CommandPlan& plan, std::string& what) {
  if (!changes_user(plan)) return true;
  what = fmt::format("cannot take the groups of user {}", plan.uid);
  return (plan.user.empty() ? setgroups(0, nullptr)
                            : initgroups(plan.user.c_str(), group_of(plan))) == 0;
}

bool become(const CommandPlan& plan, std::string& what) {
  if (!changes_user(plan)) return true;
  const auto uid = static_cast<uid_t>(plan.uid);
  const gid_t gid = group_of(plan);
  what = fmt::format("cannot become user {} of group {}", uid, gid);
  return setresgid(gid, gid, gid) == 0 && setresuid(uid, uid, uid) == 0;
}

bool redirect(const CommandPlan& plan, std::string& what) {
  what = "cannot redirect its output";
  const int input = plan.input >= 0 ? plan.input : open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (input < 0 || dup2(input, STDIN_FILENO) < 0 || dup2(plan.output, STDOUT_FILENO) < 0 ||
      dup2(plan.errors, STDERR_FILENO) < 0) {
    return false;
  }
  what = "cannot have the terminal";
  return !plan.terminal || ioctl(STDIN_FILENO, TIOCSCTTY, 0) == 0;
}

// Returns only when it could not be started.
void become_program(const CommandPlan& plan, std::string& what) {
  const auto environment = pointers_to(plan.environment);
  if (!plan.words.empty()) {
    environ = const_cast<char**>(environment.data());  // where execvp() looks for PATH
    what = fmt::format("cannot start '{}'", plan.words[0]);
    execvp(plan.words[0].c_str(), pointers_to(plan.words).data());
    return;
  }
  what = "cannot start the shell";
  const std::vector<std::string> words = {"bash", "-c", plan.script};
  const std::vector<std::string> plain = {"sh", "-c", plan.script};
  execve("/bin/bash", pointers_to(words).data(), environment.data());
  execve("/bin/sh", pointers_to(plain).data(), environment.data());
}

// In the child, until it is the command. Returns only when something is in the way.
int turn_into_command(const CommandPlan& plan, pid_t keeper, std::string& what) {
  setsid();
  reset_signals();
  umask(022);
  if (!redirect(plan, what) || !enter_network(plan, what) || !take_user_groups(plan, what) ||
      !join_groups(plan, what) || !limit(plan, what) || !become(plan, what)) {
    return errno;
  }
  // After the change of user, which clears it.
  what = "cannot be tied to its keeper";
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return errno;
  if (getppid() != keeper) return ESRCH;
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  what = fmt::format("cannot change to the folder {}", plan.workdir);
  if (chdir(plan.workdir.empty() ? "/" : plan.workdir.c_str()) != 0) return errno;
  syscall(SYS_close_range, STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);
  become_program(plan, what);
  return errno;
}

}  // namespace

Result<StartedCommand> start_command(const CommandPlan& plan) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    return Error{ErrorKind::kIo, fmt::format("no pipe: {}", strerror(errno)), ""};
  }
  const pid_t keeper = getpid();
  const pid_t pid = fork();
  if (pid == 0) {
    std::string what;
    const int number = turn_into_command(plan, keeper, what);
    const std::string text = fmt::format("{}: {}", what, strerror(number));
    [[maybe_unused]] const ssize_t told = write(ends[1], text.data(), text.size());
    _exit(!plan.words.empty() && number == ENOENT ? kNoSuchProgram : kCannotExec);
  }
  const int number = errno;
  close(ends[1]);
  if (pid > 0) return StartedCommand{pid, ends[0]};
  close(ends[0]);
  return Error{ErrorKind::kIo, fmt::format("no process for the command: {}", strerror(number)), ""};
}

std::string exec_verdict(int descriptor) {
  char text[512];
  const ssize_t got = read(descriptor, text, sizeof text);
  return got > 0 ? std::string(text, static_cast<std::size_t>(got)) : "";
}

}  // namespace weft::live
