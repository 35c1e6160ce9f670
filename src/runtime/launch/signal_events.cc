#include "runtime/launch/signal_events.h"

#include <fmt/core.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace weft::runtime {

Result<SignalEvents> SignalEvents::make() {
  SignalEvents events;
  sigset_t taken;
  sigemptyset(&taken);
  for (const int number : {SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2}) {
    struct sigaction now = {};
    sigaction(number, nullptr, &now);
    const bool may_be_ignored = number == SIGINT || number == SIGHUP;
    if (!may_be_ignored || now.sa_handler != SIG_IGN) sigaddset(&taken, number);
  }
  events.fd_ = signalfd(-1, &taken, SFD_NONBLOCK | SFD_CLOEXEC);
  if (events.fd_ < 0) {
    return Error{ErrorKind::kIo, fmt::format("signals cannot be read: {}", strerror(errno)), ""};
  }
  pthread_sigmask(SIG_BLOCK, &taken, nullptr);
  struct sigaction ignore = {};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &ignore, nullptr);
  return events;
}

SignalEvents::SignalEvents(SignalEvents&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

SignalEvents::~SignalEvents() {
  if (fd_ >= 0) close(fd_);
}

std::vector<int> SignalEvents::take() {
  std::vector<int> numbers;
  signalfd_siginfo info = {};
  while (read(fd_, &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    numbers.push_back(static_cast<int>(info.ssi_signo));
  }
  return numbers;
}

}  // namespace weft::runtime
