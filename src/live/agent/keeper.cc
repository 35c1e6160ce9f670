#include "live/agent/keeper.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iostream>

#include "base/stopwatch.h"
#include "live/agent/control_groups.h"
#include "live/agent/keeper_link.h"
#include "live/agent/keeper_loop.h"
#include "live/agent/process_tree.h"
#include "live/agent/rank_plan.h"

namespace weft::live {
namespace {

using Json = nlohmann::json;

constexpr int kMostFreezeLooks = 1000;
constexpr useconds_t kFreezeLookUs = 1000;

long oom_kills(const std::string& path) {
  std::ifstream in(path);
  std::string word;
  for (long count = 0; in >> word;) {
    if (word == "oom_kill" && in >> count) return count;
  }
  return 0;
}

bool write_word(const std::string& path, const std::string& word) {
  std::ofstream out(path);
  return static_cast<bool>(out << word << std::flush);
}

}  // namespace

KeeperLoop::KeeperLoop(const KeeperWords& words)
    : paths_{words.folder}, key_(words.key), rank_(words.rank), agent_(words.link) {}

KeeperLoop::~KeeperLoop() {
  for (const int descriptor : {signals_, agent_, output_, output_writer_, progress_, verdict_}) {
    if (descriptor >= 0) close(descriptor);
  }
  if (!progress_path_.empty()) unlink(progress_path_.c_str());
}

Status KeeperLoop::run() {
  if (Status opened = open_signals(); !opened.ok()) return opened;
  if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0) return io_error("orphans are not adopted");
  if (Status go = wait_for_go(); !go.ok()) return go;
  auto claim = Claim::make(paths_, key_, rank_);
  if (!claim.ok()) return claim.error();
  claim_.emplace(std::move(*claim));
  if (Status begun = begin(); !begun.ok()) {
    why_ = begun.error().what;
  } else {
    while (!finished()) turn();
    take_output(true);
  }
  tell_end(end());
  return {};
}

// Nothing is claimed yet: when the agent dies now, its successor is told to start the rank or not.
Status KeeperLoop::wait_for_go() {
  const std::int64_t deadline = monotonic_ns() + kGoDeadlineNs;
  say(introduction());
  while (agent_ >= 0 && monotonic_ns() < deadline) {
    pollfd wait = {agent_, POLLIN, 0};
    const std::int64_t left_ms = (deadline - monotonic_ns()) / 1'000'000;
    poll(&wait, 1, static_cast<int>(std::max<std::int64_t>(left_ms, 1)));
    Json message;
    const Received received = receive_message(agent_, message);
    if (received == Received::kEnd) break;
    if (received == Received::kNothing) continue;
    if (message.value("do", "") != "go") continue;
    obey(message);
    return {};
  }
  return Error{ErrorKind::kIo, "the agent went before it said go", ""};
}

Status KeeperLoop::read_order() {
  auto plan = read_rank_plan(paths_, key_, rank_);
  if (!plan.ok()) return plan.error();
  order_ = std::move(plan->order);
  share_ = std::move(plan->share);
  setup_ = std::move(plan->setup);
  return {};
}

Status KeeperLoop::begin() {
  if (Status read = read_order(); !read.ok()) return read;
  auto log = RankLog::open(order_.log_dir, rank_, order_.log_bytes, order_.uid, order_.gid);
  if (!log.ok()) return log.error();
  log_.emplace(std::move(*log));
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return io_error("no pipe for the output");
  output_ = ends[0];
  output_writer_ = ends[1];
  fcntl(output_, F_SETFL, O_NONBLOCK);
  if (Status opened = open_progress(); !opened.ok()) return opened;
  in_setup_ = !order_.setup.empty();
  return start_phase(in_setup_ ? order_.setup : script_of(order_));
}

Status KeeperLoop::start_phase(const std::string& script) {
  CommandPlan plan = command_plan({order_, share_, setup_}, progress_path_);
  plan.script = script;
  plan.output = plan.errors = output_writer_;
  status_.reset();
  const auto started = start_command(plan);
  if (!started.ok()) return started.error();
  command_ = started->pid;
  verdict_ = started->verdict;
  return claim_->set_command(command_);
}

void KeeperLoop::verdict_is_here() {
  why_ = exec_verdict(verdict_);
  close(std::exchange(verdict_, -1));
  if (!why_.empty() || told_exec_) return;
  told_exec_ = true;
  say({{"is", "exec"}, {"pid", command_}});
}

// What it left behind goes with it, unless a stop gives all of it time.
void KeeperLoop::command_ended() {
  const bool well = WIFEXITED(*status_) && WEXITSTATUS(*status_) == 0;
  if (in_setup_ && well && why_.empty() && !stop_) {
    in_setup_ = false;
    const Status started = start_phase(script_of(order_));
    if (!started.ok()) why_ = started.error().what;
    return;
  }
  if (!stop_) kill_all();
}

void KeeperLoop::begin_stop(int signal, Seconds grace_s, const std::string& why) {
  const std::int64_t kill_at =
      monotonic_ns() + static_cast<std::int64_t>(std::min(grace_s, 1e8) * 1e9);
  if (stop_) {
    stop_->kill_at_ns = std::min(stop_->kill_at_ns, kill_at);
    return;
  }
  stop_ = {kill_at, why};
  if (grace_s > 0 && signal != SIGKILL) send_signal(signal);
  set_frozen(false);
  if (grace_s <= 0 || signal == SIGKILL) kill_all();
}

void KeeperLoop::send_signal(int number) {
  if (number == SIGKILL || number == SIGSTOP || number == SIGCONT) {
    for (const pid_t process : descendants_of(getpid())) ::kill(process, number);
  } else if (command_ > 0 && !status_ && number > 0) {
    signal_command(command_, number);
  }
}

// Again and again until nobody is left: whoever forks while we look is seen the next time.
void KeeperLoop::kill_all() {
  killing_ = true;
  send_signal(SIGKILL);
  set_frozen(false);
}

// Ensures: where it is true and `frozen`, no process of the rank runs; where it is false, all may.
bool KeeperLoop::set_frozen(bool frozen) {
  if (frozen == frozen_) return true;
  frozen_ = frozen;
  const auto put = [&] {
    if (setup_.freeze_file.empty()) {
      send_signal(frozen_ ? SIGSTOP : SIGCONT);
      return true;
    }
    return write_word(setup_.freeze_file, frozen_ ? setup_.freeze_word : setup_.thaw_word);
  };
  bool well = put();
  if (!frozen) return well;
  // Whoever is inside the kernel stops a little later, and by signals a child may have been missed.
  for (int i = 0; i < kMostFreezeLooks && well && !is_held(); ++i) {
    usleep(kFreezeLookUs);
    well = put();
  }
  if (well && is_held()) return true;
  frozen_ = false;
  put();
  return false;
}

bool KeeperLoop::is_held() const {
  if (!setup_.freeze_file.empty()) return is_frozen_whole(setup_);
  const std::vector<pid_t> processes = descendants_of(getpid());
  return std::all_of(processes.begin(), processes.end(), is_stopped);
}

// The right to run in that epoch is taken before anything does.
bool KeeperLoop::go_on_as(std::uint64_t epoch) {
  if (epoch == key_.epoch) return true;
  const RunKey next{key_.uuid, epoch};
  auto claim = Claim::make(paths_, next, rank_);
  if (!claim.ok() || !claim->set_command(command_).ok()) return false;
  claim_.emplace(std::move(*claim));
  key_ = next;
  return true;
}

bool KeeperLoop::finished() { return status_ && verdict_ < 0 && descendants_of(getpid()).empty(); }

RankEnd KeeperLoop::end() const {
  RankEnd end;
  end.at_s = 1e-9 * static_cast<double>(monotonic_ns());
  end.why = why_;
  end.ran = told_exec_;
  if (!status_ || !why_.empty()) {
    end.code = kNotStarted;
    return end;
  }
  if (WIFSIGNALED(*status_)) {
    end.signal = WTERMSIG(*status_);
  } else {
    end.code = WEXITSTATUS(*status_);
  }
  const bool badly = end.code != 0 || end.signal != 0;
  if (badly && !setup_.oom_file.empty() && oom_kills(setup_.oom_file) > 0) {
    end.why = "memory limit";
  } else if (stop_) {
    end.why = stop_->why;
  } else if (badly && in_setup_) {
    end.why = "setup failed";
  }
  return end;
}

// The message is for the case that the disk is full.
void KeeperLoop::tell_end(const RankEnd& end) {
  const Status written = write_end(paths_, key_, rank_, end);
  if (!written.ok() && log_) log_->write("[weft: " + written.error().what + "]\n");
  say({{"is", "ended"},
       {"code", end.code},
       {"signal", end.signal},
       {"why", end.why},
       {"ran", end.ran},
       {"at_s", end.at_s}});
}

Status keep_rank(const KeeperWords& words) { return KeeperLoop(words).run(); }

}  // namespace weft::live
