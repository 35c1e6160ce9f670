// The user's command as a process: a session of its own, the user's identity, its control groups.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace weft::live {

struct CommandPlan {
  std::string script;                    // for the shell, unless there are words
  std::vector<std::string> words;        // a program, found by PATH, and what it is told
  std::string workdir;                   // empty: the user's home, or /
  std::vector<std::string> environment;  // NAME=value, all of it
  std::string user;                      // whose supplementary groups; empty: none
  std::int64_t uid = -1, gid = -1;       // -1: ours
  std::vector<std::string> group_files;  // of control groups, into which it writes itself
  Bytes data_limit = 0;                  // of memory, where no control group limits it; 0: none
  std::vector<int> cpus;                 // to run on; empty: all
  std::string network_space;             // file of the network namespace; empty: ours
  int input = -1;                        // its standard input; -1: nothing
  int output = -1, errors = -1;          // its standard output and error
  bool terminal = false;                 // they are a terminal, which is to be its own
};

struct StartedCommand {
  pid_t pid = -1;
  // Readable when it is known whether the command was exec'd; the caller closes it.
  int verdict = -1;
};

// Starts the command; it dies when the calling thread does. Requires: one thread only.
Result<StartedCommand> start_command(const CommandPlan& plan);

// What the verdict's descriptor says: empty when the command was exec'd, else what went wrong.
// Requires: it is readable.
std::string exec_verdict(int descriptor);

}  // namespace weft::live
