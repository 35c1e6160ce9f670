#include "live/agent/exec_keeper.h"

#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/stopwatch.h"
#include "live/agent/exec_messages.h"
#include "live/agent/keeper_link.h"
#include "live/agent/process_tree.h"
#include "live/agent/rank_plan.h"

namespace weft::live {
namespace {

using Json = nlohmann::json;

constexpr std::int64_t kGraceNs = 1000 * kMillisecond;  // from the wish to the kill
constexpr std::int64_t kFirstKillAgainNs = 5 * kMillisecond, kMostKillAgainNs = 200 * kMillisecond;

class ExecKeeper {
 public:
  ExecKeeper(const KeeperWords& words, std::string id, std::array<int, 3> streams)
      : words_(words), id_(std::move(id)), link_(words.link), streams_(streams) {}
  ~ExecKeeper() {
    for (const int descriptor : {signals_, link_, verdict_}) {
      if (descriptor >= 0) close(descriptor);
    }
  }
  ExecKeeper(const ExecKeeper&) = delete;
  ExecKeeper& operator=(const ExecKeeper&) = delete;

  Status run() {
    if (Status ready = prepare(); !ready.ok()) return ready;
    auto command = wait_for_go();
    if (!command.ok()) return command.error();
    if (const Status started = start(*command); !started.ok()) {
      why_ = started.error().what;
      status_ = kNotStarted << 8;
    }
    close_streams();
    deadline_ns_ = monotonic_ns() + static_cast<std::int64_t>(command->timeout_s * 1e9);
    timeout_s_ = command->timeout_s;
    while (!finished()) turn();
    tell_end();
    return {};
  }

 private:
  Status prepare() {
    signal(SIGPIPE, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    sigset_t set;
    sigemptyset(&set);
    for (const int number : {SIGCHLD, SIGTERM, SIGINT}) sigaddset(&set, number);
    sigprocmask(SIG_BLOCK, &set, nullptr);
    signals_ = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (signals_ >= 0 && prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0) return {};
    return Error{ErrorKind::kIo, fmt::format("no keeper of a command: {}", strerror(errno)), ""};
  }

  Result<ExecCommand> wait_for_go() {
    const std::int64_t deadline = monotonic_ns() + kGoDeadlineNs;
    for (std::int64_t now = monotonic_ns(); now < deadline; now = monotonic_ns()) {
      pollfd wait = {link_, POLLIN, 0};
      poll(&wait, 1, static_cast<int>((deadline - now) / kMillisecond) + 1);
      Json message;
      const Received received = receive_message(link_, message);
      if (received == Received::kNothing) continue;
      if (received == Received::kEnd || message.value("do", "") != "go") break;
      return read_exec_command(message);
    }
    return Error{ErrorKind::kIo, "the agent went before it said go", ""};
  }

  Status start(const ExecCommand& command) {
    const auto rank = read_rank_plan({words_.folder}, words_.key, words_.rank);
    if (!rank.ok()) return rank.error();
    CommandPlan plan = command_plan(*rank, "");
    plan.words = command.words;
    plan.environment.push_back(exec_mark(id_));
    plan.input = streams_[0];
    plan.output = streams_[1];
    plan.errors = streams_[2];
    terminal_ = plan.terminal = command.terminal.has_value();
    if (command.terminal) {
      std::erase_if(plan.environment, [](const std::string& v) { return v.starts_with("TERM="); });
      plan.environment.push_back("TERM=" + command.terminal->kind);
    }
    const auto started = start_command(plan);
    if (!started.ok()) return started.error();
    command_ = started->pid;
    verdict_ = started->verdict;
    return {};
  }

  // Ours, so that who reads the output sees its end.
  void close_streams() {
    for (const int stream : streams_) close(stream);
  }

  bool finished() { return status_ && verdict_ < 0 && descendants_of(getpid()).empty(); }

  void turn() {
    const std::int64_t now = monotonic_ns();
    std::int64_t next = killing_ ? now + kill_again_ns_ : std::min(deadline_ns_, kill_at_ns_);
    next = std::max(next, now);
    std::array<pollfd, 3> waits = {pollfd{signals_, POLLIN, 0}, pollfd{link_, POLLIN, 0},
                                   pollfd{verdict_, POLLIN, 0}};
    const std::int64_t left_ms = (next - now + kMillisecond - 1) / kMillisecond;
    if (poll(waits.data(), waits.size(),
             static_cast<int>(std::min<std::int64_t>(left_ms, 1 << 30))) < 0 &&
        errno != EINTR) {
      return;
    }
    if (waits[2].revents != 0) take_verdict();
    if (waits[0].revents != 0) take_signals();
    if (waits[1].revents != 0) take_messages();
    const std::int64_t then = monotonic_ns();
    if (!killing_ && then >= deadline_ns_) {
      stop(fmt::format("its time of {:g} s is over", timeout_s_));
    } else if (killing_ || then >= kill_at_ns_) {
      kill_all();
    }
  }

  void take_verdict() {
    if (verdict_ < 0) return;
    if (std::string wrong = exec_verdict(verdict_); !wrong.empty()) why_ = std::move(wrong);
    close(std::exchange(verdict_, -1));
  }

  void take_signals() {
    signalfd_siginfo info;
    while (read(signals_, &info, sizeof info) == sizeof info) {
      if (info.ssi_signo != SIGCHLD) stop("its keeper was told to end");
    }
    int status = 0;
    for (pid_t ended = 0; (ended = waitpid(-1, &status, WNOHANG)) > 0;) {
      if (ended != command_) continue;
      take_verdict();
      status_ = status;
      kill_all();  // what it left behind goes with it
    }
  }

  void take_messages() {
    while (link_ >= 0) {
      Json message;
      const Received received = receive_message(link_, message);
      if (received == Received::kNothing) return;
      if (received == Received::kEnd) {
        close(std::exchange(link_, -1));
        return stop("its agent went");
      }
      const std::string word = message.value("do", "");
      if (word == "kill") stop(message.value("why", "killed"));
      if (word == "end") ask_to_end(message.value("why", ""));
    }
  }

  void ask_to_end(const std::string& why) {
    if (killing_ || kill_at_ns_ != kNoTime) return;
    if (why_.empty()) why_ = why;
    kill_at_ns_ = monotonic_ns() + kGraceNs;
    send_signal(terminal_ ? SIGHUP : SIGTERM);
    send_signal(SIGCONT);
  }

  void stop(const std::string& why) {
    if (why_.empty() && !status_) why_ = why;
    kill_all();
  }

  // Again and again until nobody is left: whoever forks while we look is seen the next time.
  void kill_all() {
    kill_again_ns_ = std::clamp(2 * kill_again_ns_, kFirstKillAgainNs, kMostKillAgainNs);
    killing_ = true;
    send_signal(SIGKILL);
  }

  static void send_signal(int number) {
    for (const pid_t process : descendants_of(getpid())) ::kill(process, number);
  }

  void tell_end() {
    const bool signalled = WIFSIGNALED(*status_);
    if (link_ < 0) return;
    send_message(link_, {{"is", "ended"},
                         {"code", signalled ? 0 : WEXITSTATUS(*status_)},
                         {"signal", signalled ? WTERMSIG(*status_) : 0},
                         {"why", why_}});
  }

  static constexpr std::int64_t kNoTime = std::int64_t{1} << 62;

  const KeeperWords words_;
  const std::string id_;
  int link_;
  const std::array<int, 3> streams_;
  int signals_ = -1, verdict_ = -1;
  pid_t command_ = -1;
  bool terminal_ = false, killing_ = false;
  Seconds timeout_s_ = 0;
  std::int64_t deadline_ns_ = kNoTime, kill_at_ns_ = kNoTime, kill_again_ns_ = 0;
  std::optional<int> status_;  // of the command, as waitpid() gives it
  std::string why_;            // empty: it ended by itself
};

}  // namespace

std::string exec_mark(const std::string& id) { return "WEFT_EXEC=" + id; }

Status keep_exec(const KeeperWords& words, const std::string& id, std::array<int, 3> streams) {
  return ExecKeeper(words, id, streams).run();
}

}  // namespace weft::live
