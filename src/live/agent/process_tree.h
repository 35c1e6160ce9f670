// Processes and what descends from them, by /proc.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/units.h"

namespace weft::live {

// The living descendants of a process, parents first. Zombies are left out.
// Cost: one small file per thread of each.
std::vector<pid_t> descendants_of(pid_t process);

// Whether the process stands still by SIGSTOP, or is gone.
bool is_stopped(pid_t process);

// Sends a signal to the command that `process` runs: to the uppermost processes of its tree that
// catch it, so that a library's helpers do not die of a request that was meant for the program. A
// shell that catches it acts only once its foreground command has ended, so that command gets it
// too. Where nobody catches it, signals that ask for an end go to all, and others to none, because
// their default is death as well. Requires: nobody has waited for the process.
void signal_command(pid_t process, int number);

// Processes that carry `mark` ("NAME=value") in their environment. Cost: a look at every process.
std::vector<pid_t> marked_processes(const std::string& mark);

struct TreeUsage {
  double cpu_s = 0;
  Bytes memory = 0;  // resident
};
// Of the living processes.
TreeUsage usage_of(const std::vector<pid_t>& processes);

}  // namespace weft::live
