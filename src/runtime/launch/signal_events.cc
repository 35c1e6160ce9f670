#include "runtime/launch/signal_events.h"

#include <fmt/format.h>
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
  pthread_sigmask(SIG_BLOCK, &taken, &events.mask_before_);
  struct sigaction ignore = {};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &ignore, &events.pipe_before_);
  return events;
}

SignalEvents::SignalEvents(SignalEvents&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      mask_before_(other.mask_before_),
      pipe_before_(other.pipe_before_) {}

SignalEvents::~SignalEvents() {
  if (fd_ < 0) return;
  take();  // what came too late must not act now
  close(fd_);
  sigaction(SIGPIPE, &pipe_before_, nullptr);
  pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
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
