#include "exec_session.h"

#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/base64.h"

namespace weft {
namespace {

using Json = nlohmann::json;

constexpr int kLost = 255;
constexpr int kSignalled = 128;
constexpr int kTries = 3;  // of a request that can be made again
constexpr Seconds kExecTimeout_s = 20;
constexpr std::size_t kPiece = 32 << 10;

termios before;  // of the terminal, while it is raw

sigset_t exec_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGWINCH}) sigaddset(&set, number);
  return set;
}

bool write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = write(descriptor, bytes.data(), bytes.size());
    if (put < 0 && (errno == EINTR || errno == EAGAIN)) {
      pollfd wait = {descriptor, POLLOUT, 0};
      poll(&wait, 1, 1000);
      continue;
    }
    if (put <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  return true;
}

class Session {
 public:
  Session(const live::Endpoint& daemon, const std::string& id, bool terminal, const char* verb)
      : daemon_(daemon), path_("/v1/execs/" + id), terminal_(terminal), verb_(verb) {}

  int run() {
    over_event_ = eventfd(0, EFD_CLOEXEC);
    const sigset_t set = exec_signals();
    signals_ = signalfd(-1, &set, SFD_CLOEXEC);
    if (over_event_ < 0 || signals_ < 0) return lost("no descriptors are left");
    std::thread input([this] { hand_on_input(); });
    std::thread signals([this] { heed_signals(); });
    const int code = write_output();
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t told = write(over_event_, &one, sizeof one);
    input.join();
    signals.join();
    // Its end was read: nothing needs to be remembered.
    live::HttpClient client(daemon_);
    tell(client, "DELETE", path_);
    close(over_event_);
    close(signals_);
    return code;
  }

 private:
  int lost(const std::string& why) const {
    fmt::print(stderr, "weft {}: {}\n", verb_, why);
    return kLost;
  }

  // A request that may be made again: GET, or input from an offset on. Not an object: what is wrong
  // is told in `why`.
  Json ask(live::HttpClient& client, const char* method, const std::string& target,
           const std::string& body, std::string& why) const {
    for (int tried = 0; tried < kTries; ++tried) {
      const auto reply = client.ask(method, target, body, kExecTimeout_s);
      why = reply.ok() ? "" : reply.error().text();
      if (!reply.ok()) continue;
      const Json json = Json::parse(reply->body, nullptr, false);
      if (reply->status < 300 && json.is_object()) return json;
      why = json.is_object() ? json.value("error", "refused") : "the daemon said what is no JSON";
      break;
    }
    return {};
  }

  // What is not heard is not needed: sessions that nobody reads end by themselves.
  static void tell(live::HttpClient& client, const char* method, const std::string& target) {
    // A connection that was kept may have been closed meanwhile.
    if (!client.ask(method, target, "", kExecTimeout_s).ok()) {
      static_cast<void>(client.ask(method, target, "", kExecTimeout_s));
    }
  }

  int write_output() {
    live::HttpClient client(daemon_);
    std::uint64_t after = 0;
    while (true) {
      std::string why;
      const Json answer =
          ask(client, "GET", fmt::format("{}/output?after={}", path_, after), "", why);
      if (!answer.is_object()) return interrupted_ > 0 ? kSignalled + interrupted_ : lost(why);
      for (const Json& part : answer.at("parts")) {
        const auto bytes = from_base64(part.at("data").get<std::string>());
        const int to = part.at("stream") == 2 ? STDERR_FILENO : STDOUT_FILENO;
        if (!bytes || !write_all(to, *bytes)) {
          tell(client, "DELETE", path_);
          return lost("its output cannot be written");
        }
      }
      after = answer.at("next");
      if (answer.at("ended").get<bool>()) return code_of(answer);
    }
  }

  int code_of(const Json& end) const {
    if (interrupted_ > 0) return kSignalled + interrupted_;
    if (const std::string why = end.at("why"); !why.empty()) {
      fmt::print(stderr, "weft {}: {}\n", verb_, why);
    }
    const int signal = end.at("signal");
    return signal > 0 ? kSignalled + signal : end.at("code").get<int>();
  }

  // Until standard input ends, or the command does.
  void hand_on_input() {
    live::HttpClient client(daemon_);
    std::uint64_t offset = 0;
    for (bool last = false; !last;) {
      std::array<pollfd, 2> waits = {pollfd{STDIN_FILENO, POLLIN, 0},
                                     pollfd{over_event_, POLLIN, 0}};
      if (poll(waits.data(), waits.size(), -1) < 0) continue;
      if (waits[1].revents != 0) return;
      std::array<char, kPiece> buffer;
      const ssize_t got = read(STDIN_FILENO, buffer.data(), buffer.size());
      if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
      last = got <= 0;
      std::string bytes(buffer.data(), last ? 0 : static_cast<std::size_t>(got));
      do {
        std::string why;
        const Json taken = ask(
            client, "POST",
            fmt::format("{}/input?offset={}{}", path_, offset, last ? "&last=1" : ""), bytes, why);
        if (!taken.is_object()) return;  // whoever reads the output learns why
        const std::uint64_t next = taken.at("next");
        bytes.erase(0, next - offset);
        offset = next;
      } while (!bytes.empty());
    }
  }

  void heed_signals() {
    live::HttpClient client(daemon_);
    while (true) {
      std::array<pollfd, 2> waits = {pollfd{signals_, POLLIN, 0}, pollfd{over_event_, POLLIN, 0}};
      if (poll(waits.data(), waits.size(), -1) < 0) continue;
      if (waits[1].revents != 0) return;
      signalfd_siginfo info = {};
      if (read(signals_, &info, sizeof info) != sizeof info) continue;
      const int number = static_cast<int>(info.ssi_signo);
      if (number != SIGWINCH && interrupted_ > 0) {
        RawTerminal::restore();
        _exit(kSignalled + number);
      }
      if (number != SIGWINCH) {
        interrupted_ = number;
        tell(client, "DELETE", path_);
      } else if (terminal_) {
        const WindowSize size = window_size();
        tell(client, "POST",
             fmt::format("{}/size?rows={}&columns={}", path_, size.rows, size.columns));
      }
    }
  }

  const live::Endpoint daemon_;
  const std::string path_;
  const bool terminal_;
  const char* const verb_;
  int over_event_ = -1, signals_ = -1;
  std::atomic<int> interrupted_ = 0;  // by this signal
};

bool is_raw = false;

}  // namespace

RawTerminal::RawTerminal(bool wanted) {
  if (!wanted || tcgetattr(STDIN_FILENO, &before) != 0) return;
  termios raw = before;
  cfmakeraw(&raw);
  changed_ = is_raw = tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) == 0;
}

RawTerminal::~RawTerminal() {
  if (changed_) restore();
}

void RawTerminal::restore() {
  if (is_raw) tcsetattr(STDIN_FILENO, TCSADRAIN, &before);
  is_raw = false;
}

WindowSize window_size() {
  winsize size = {};
  if (ioctl(STDIN_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0) {
    return {};
  }
  return {size.ws_row, size.ws_col};
}

void block_exec_signals() {
  const sigset_t set = exec_signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  signal(SIGPIPE, SIG_IGN);
}

int run_exec_session(const live::Endpoint& daemon, const std::string& id, bool terminal,
                     const char* verb) {
  return Session(daemon, id, terminal, verb).run();
}

}  // namespace weft
