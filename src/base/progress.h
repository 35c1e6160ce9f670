// The one line that long work shows on a terminal.
#pragma once

#include <cstdint>
#include <string>

namespace weft {

// Writes to stderr after the first second and then at most five times a second, only if stderr is a
// terminal. Thread-safety: one thread.
class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine();  // wipes the line
  // `done` of `total`; `what` says what is being counted and where it is.
  void show(double done, double total, const std::string& what);

 private:
  bool terminal_;
  std::int64_t began_ns_, shown_ns_ = 0;
};

}  // namespace weft
