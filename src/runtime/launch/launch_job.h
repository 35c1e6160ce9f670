// A job from its first rank to its last: processes, signals, logs and the store, driven by
// Launcher.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/launch/environment.h"

namespace weft::runtime {

struct LaunchPlan {
  LaunchRules rules;
  std::vector<Host> hosts;           // slots for all ranks there may be
  std::string via;                   // in place of ssh; empty: ssh
  std::string address;               // of this machine, for other hosts; empty: its name
  int port = 0;                      // of the store; 0: a free one
  std::vector<std::string> command;  // program and arguments
  Variables user;
  std::string log_dir;  // empty: in a private folder that goes when all ended well
  bool prefix = true;
  int out_fd = 1, err_fd = 2;  // where the lines of the ranks go
};

// One process of the job, for reports.
struct MemberReport {
  StartRank start;
  std::string host;
  long pid = 0;
  int code = 0;
  Seconds began_s = 0, ended_s = 0;
  std::string out_path, err_path;
  std::int64_t out_begin = 0, err_begin = 0;  // of its lines in files that were there before
  std::vector<std::string> last_lines;        // of the one that failed the job
};

struct LaunchReport {
  std::string job, log_dir;
  bool logs_kept = false;
  Seconds seconds = 0;
  Verdict verdict;
  std::vector<MemberReport> members;  // by member
};

// Lines of a failed rank that a report shows.
inline constexpr std::size_t kShownLines = 20;

// Runs the job. Signals of this process become events for as long as it runs. An error means that
// no rank was started. Requires: slots_of(hosts) covers the ranks; the command is not empty.
Result<LaunchReport> run_launch(const LaunchPlan& plan);

}  // namespace weft::runtime
