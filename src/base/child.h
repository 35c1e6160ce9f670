// Other programs, run to their end or to a deadline.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace weft {

struct ChildEnd {
  int code = 0;            // exit code; 128 + signal when a signal ended it
  bool timed_out = false;  // it was killed at the deadline
  std::string out;         // what it wrote to standard output
};

// Runs `command` (program, looked for as a shell does, and arguments; no shell) with nothing on
// standard input; standard error is ours. Keeps at most `limit_bytes` of its output. Ensures: the
// child is gone afterwards. Requires: command is not empty; timeout_s > 0.
Result<ChildEnd> run_child(const std::vector<std::string>& command, double timeout_s,
                           std::size_t limit_bytes = 64 << 20);

// Runs the commands at the same time, each as above; they work together, so once one has failed the
// others have `kGroupGraceS` seconds left. Ensures: all are gone afterwards; ends in their order.
// Requires: no command is empty; timeout_s > 0, for all of them together.
inline constexpr double kGroupGraceS = 2;
Result<std::vector<ChildEnd>> run_children(const std::vector<std::vector<std::string>>& commands,
                                           double timeout_s, std::size_t limit_bytes = 64 << 20);

}  // namespace weft
