// One command beside a rank, from this end: our standard streams are its own.
#pragma once

#include <string>

#include "live/http/client.h"

namespace weft {

// The terminal at standard input, which hands on every key while this lives.
class RawTerminal {
 public:
  // Does nothing if `wanted` is false.
  explicit RawTerminal(bool wanted);
  ~RawTerminal();
  RawTerminal(const RawTerminal&) = delete;
  RawTerminal& operator=(const RawTerminal&) = delete;
  static void restore();

 private:
  bool changed_ = false;
};

struct WindowSize {
  int rows = 24, columns = 80;
};
WindowSize window_size();

// Hands on standard input, writes out what comes, and returns the command's exit code, or 128 and
// the number of the signal that ended it; 255 when it was lost. SIGINT, SIGTERM and SIGHUP end the
// command; a second one ends us without waiting for it. `verb` begins what is told on standard
// error. Requires: no other thread was started before block_exec_signals().
int run_exec_session(const live::Endpoint& daemon, const std::string& id, bool terminal,
                     const char* verb);

// From now on signals wait for run_exec_session().
void block_exec_signals();

}  // namespace weft
