// Signals of this process as something to wait for.
#pragma once

#include <vector>

#include "base/result.h"

namespace weft::runtime {

// From make() on the signals that a launcher obeys, and SIGCHLD, arrive here instead of acting on
// the process; SIGPIPE is ignored. It stays so afterwards: one interrupt too many must not cut off
// the report. SIGHUP and SIGINT that were ignored stay ignored (nohup). Requires: made before other
// threads are started, so that they inherit the mask.
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
};

}  // namespace weft::runtime
