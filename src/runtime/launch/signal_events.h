// Signals of this process as something to wait for.
#pragma once

#include <signal.h>

#include <vector>

#include "base/result.h"

namespace weft::runtime {

// From make() to destruction the signals that a launcher obeys, and SIGCHLD, arrive here instead of
// acting on the process; SIGPIPE is ignored. SIGHUP and SIGINT that were ignored stay so (nohup).
// Requires: made before other threads are started, so that they inherit the mask.
class SignalEvents {
 public:
  static Result<SignalEvents> make();
  ~SignalEvents();
  SignalEvents(SignalEvents&& other) noexcept;
  SignalEvents& operator=(SignalEvents&&) = delete;

  int fd() const { return fd_; }
  // The numbers that have arrived.
  std::vector<int> take();

 private:
  SignalEvents() = default;
  int fd_ = -1;
  sigset_t mask_before_ = {};
  struct sigaction pipe_before_ = {};
};

}  // namespace weft::runtime
