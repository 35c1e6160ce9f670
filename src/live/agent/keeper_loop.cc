#include "live/agent/keeper_loop.h"

#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>

#include "base/stopwatch.h"
#include "live/agent/keeper_link.h"

namespace weft::live {
namespace {

using Json = nlohmann::json;

constexpr std::int64_t kFirstBackoffNs = 20 * kMillisecond, kMostBackoffNs = 250 * kMillisecond;
constexpr std::int64_t kProgressEveryNs = 100 * kMillisecond;
constexpr std::int64_t kKillAgainNs = 10 * kMillisecond;
constexpr std::size_t kMostDatagram = 4096;
constexpr int kMostDatagramsATurn = 256;

}  // namespace

Status KeeperLoop::open_signals() {
  signal(SIGPIPE, SIG_IGN);
  signal(SIGHUP, SIG_IGN);
  sigset_t set;
  sigemptyset(&set);
  for (const int number : {SIGCHLD, SIGTERM, SIGINT}) sigaddset(&set, number);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  signals_ = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  if (signals_ < 0) return io_error("no descriptor for signals");
  return {};
}

Status KeeperLoop::open_progress() {
  std::uint64_t random = 0;
  if (getrandom(&random, sizeof random, 0) != sizeof random) return io_error("no random numbers");
  progress_path_ = fmt::format("{}/{:016x}", paths_.sockets(), random);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  CHECK(progress_path_.size() < sizeof address.sun_path);
  std::memcpy(address.sun_path, progress_path_.data(), progress_path_.size());
  progress_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (progress_ < 0 ||
      bind(progress_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      chmod(progress_path_.c_str(), 0600) != 0) {
    return io_error("no socket for progress");
  }
  if (geteuid() == 0 && order_.uid > 0 &&
      chown(progress_path_.c_str(), static_cast<uid_t>(order_.uid), static_cast<gid_t>(-1)) != 0) {
    return io_error("the progress socket cannot be given to its user");
  }
  return {};
}

void KeeperLoop::turn() {
  const std::int64_t now = monotonic_ns();
  std::array<pollfd, 5> waits = {pollfd{signals_, POLLIN, 0}, pollfd{agent_, POLLIN, 0},
                                 pollfd{output_, POLLIN, 0}, pollfd{progress_, POLLIN, 0},
                                 pollfd{verdict_, POLLIN, 0}};
  if (poll(waits.data(), waits.size(), timeout_ms(now)) < 0 && errno != EINTR) return;
  // The verdict first: whoever ended before it was exec'd has not run.
  if (waits[4].revents != 0 && verdict_ >= 0) verdict_is_here();
  if (waits[0].revents != 0) take_signals();
  if (waits[1].revents != 0) take_messages();
  if (waits[2].revents != 0) take_output(false);
  if (waits[3].revents != 0) take_progress();
  look_at_clock(monotonic_ns());
}

int KeeperLoop::timeout_ms(std::int64_t now_ns) const {
  const auto early = static_cast<std::int64_t>(std::min(order_.grace_s, lease_s_ / 2) * 1e9);
  std::int64_t next = stop_ ? stop_->kill_at_ns : until_ns_ - early;
  if (stop_ && !killing_) next = std::min(next, until_ns_);
  if (killing_) next = now_ns + kKillAgainNs;
  if (agent_ < 0) next = std::min(next, reconnect_at_ns_);
  if (!lines_.empty() && agent_ >= 0) next = std::min(next, progress_at_ns_);
  const std::int64_t ms =
      (std::max<std::int64_t>(next - now_ns, 0) + kMillisecond - 1) / kMillisecond;
  return static_cast<int>(std::min<std::int64_t>(ms, std::numeric_limits<int>::max()));
}

void KeeperLoop::look_at_clock(std::int64_t now_ns) {
  const Seconds early_s = std::min(order_.grace_s, lease_s_ / 2);
  if (!stop_ && !killing_ && now_ns >= until_ns_ - static_cast<std::int64_t>(early_s * 1e9)) {
    begin_stop(SIGTERM, 1e-9 * static_cast<double>(std::max<std::int64_t>(until_ns_ - now_ns, 0)),
               "lease");
  }
  if (killing_ || (stop_ && now_ns >= std::min(stop_->kill_at_ns, until_ns_))) kill_all();
  if (agent_ < 0 && now_ns >= reconnect_at_ns_) reconnect(now_ns);
  if (!lines_.empty() && agent_ >= 0 && now_ns >= progress_at_ns_) send_progress(now_ns);
}

void KeeperLoop::take_signals() {
  signalfd_siginfo info;
  while (read(signals_, &info, sizeof info) == sizeof info) {
    if (info.ssi_signo == SIGCHLD) continue;
    begin_stop(SIGTERM, order_.grace_s, "its keeper was told to end");
  }
  reap();
}

void KeeperLoop::reap() {
  int status = 0;
  for (pid_t ended = 0; (ended = waitpid(-1, &status, WNOHANG)) > 0;) {
    if (ended != command_) continue;
    if (verdict_ >= 0) verdict_is_here();
    status_ = status;
    command_ended();
  }
}

void KeeperLoop::take_output(bool all) {
  std::array<char, 64 << 10> buffer;
  do {
    const ssize_t got = read(output_, buffer.data(), buffer.size());
    if (got <= 0) return;
    log_->write({buffer.data(), static_cast<std::size_t>(got)});
  } while (all);
}

void KeeperLoop::take_progress() {
  std::array<char, kMostDatagram> buffer;
  for (int i = 0; i < kMostDatagramsATurn; ++i) {
    const ssize_t got = recv(progress_, buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (got < 0) return;
    lines_.feed({buffer.data(), static_cast<std::size_t>(got)});
  }
}

void KeeperLoop::send_progress(std::int64_t now_ns) {
  progress_at_ns_ = now_ns + kProgressEveryNs;
  say({{"is", "progress"}, {"values", lines_.take()}, {"malformed", lines_.malformed()}});
}

void KeeperLoop::reconnect(std::int64_t now_ns) {
  const auto connected = connect_to_agent(paths_.socket());
  if (!connected.ok()) {
    backoff_ns_ = std::clamp(2 * backoff_ns_, kFirstBackoffNs, kMostBackoffNs);
    reconnect_at_ns_ = now_ns + backoff_ns_;
    return;
  }
  agent_ = *connected;
  backoff_ns_ = 0;
  say(introduction());
}

void KeeperLoop::lose_agent() {
  if (agent_ >= 0) close(agent_);
  agent_ = -1;
  reconnect_at_ns_ = monotonic_ns() + kFirstBackoffNs;
}

void KeeperLoop::take_messages() {
  while (agent_ >= 0) {
    Json message;
    const Received received = receive_message(agent_, message);
    if (received == Received::kNothing) return;
    if (received == Received::kEnd) return lose_agent();
    obey(message);
  }
}

// The agent is of the same program, so what it says is right; what it could say in the future is
// ignored.
void KeeperLoop::obey(const Json& message) {
  const std::string word = message.value("do", "");
  until_ns_ = std::max(until_ns_, message.value("until_ns", until_ns_));
  lease_s_ = message.value("lease_s", lease_s_);
  if (word == "stop") {
    begin_stop(message.value("signal", SIGTERM), message.value("grace_s", 0.0),
               message.value("why", "stopped"));
  } else if (word == "signal") {
    send_signal(message.value("signal", 0));
  } else if (word == "freeze" || word == "thaw") {
    const bool may = word == "thaw" || !stop_;  // what ends is not held up
    const bool well =
        may && go_on_as(message.value("as", key_.epoch)) && set_frozen(word == "freeze");
    say({{"is", "froze"}, {"frozen", frozen_}, {"well", well}, {"epoch", key_.epoch}});
  }
}

Json KeeperLoop::introduction() const {
  return {{"is", "keeper"},      {"keeper", getpid()}, {"uuid", key_.uuid},
          {"epoch", key_.epoch}, {"rank", rank_},      {"claimed", claim_.has_value()},
          {"pid", command_},     {"exec", told_exec_}, {"frozen", frozen_}};
}

void KeeperLoop::say(const Json& message) {
  if (agent_ >= 0 && !send_message(agent_, message)) lose_agent();
}

}  // namespace weft::live
