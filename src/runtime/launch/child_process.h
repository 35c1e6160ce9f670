// A rank as a process: started in a session and process group of its own, with its output in files,
// so that nothing ties its life to ours.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace weft::runtime {

// Where a program is: a path with a slash as it stands, a name by PATH. The error names what is
// missing or cannot be executed.
Result<std::string> find_program(const std::string& name);

struct ChildPlan {
  std::string program;                   // path
  std::vector<std::string> words;        // argv
  std::vector<std::string> environment;  // NAME=value
  std::string out_path, err_path;        // appended to; made when they are not there
  // What it first reads on standard input, which then stays open for signals; absent: /dev/null.
  std::optional<std::string> input;
};

// Owns the descriptors, not the life: destroying it leaves the process running.
class ChildProcess {
 public:
  static Result<ChildProcess> start(const ChildPlan& plan);
  ~ChildProcess();
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&&) = delete;

  pid_t pid() const { return pid_; }
  // Readable when the process has exited.
  int ended_fd() const { return ended_fd_; }

  // To the process alone while it lives (its helpers must not die of a request to checkpoint), then
  // to what is left of its group; SIGKILL to the whole group. With an input: as a line on it.
  void signal(int number);
  // SIGKILL to what we started ourselves, for a remote shell that no longer answers.
  void kill_here();
  // The exit code (128 + signal) once the process has exited; its group may live on.
  std::optional<int> reap();
  // Whether the process or others of its group live. Requires: adopt_orphans() was called before
  // start(), so that orphans of the group are children of ours.
  bool group_lives();

 private:
  ChildProcess() = default;
  pid_t pid_ = -1;
  int ended_fd_ = -1, input_fd_ = -1;
  std::optional<int> code_;
};

// Makes orphaned descendants children of this process, so that none is lost sight of, and their
// process ids are not given to others before we have seen them end.
Status adopt_orphans();

}  // namespace weft::runtime
