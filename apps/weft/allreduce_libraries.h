// The libraries whose all-reduce can be measured on this machine, and how a group of their ranks is
// started.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "allreduce_rows.h"
#include "base/result.h"

namespace weft {

struct AllReduceLibrary {
  std::string name;
  std::string package;                // Debian's, for who has not got it
  std::vector<std::string> launcher;  // starts all ranks by `-n N`; empty: we start each rank
  std::vector<std::string> program;   // one that stands beside this program, and its first words
  std::vector<std::string> algorithms = {""};  // each is run; an empty name: the library chooses
  bool between_hosts = false;                  // it can be started on the hosts of bench/arena.sh
  std::vector<std::string> on_host = {};       // words that it needs there
  bool when_named = false;                     // measured only when a user names it
};

// All that are known, in the order of tables; the first is the one that verdicts are about.
const std::vector<AllReduceLibrary>& allreduce_libraries();

// An error that names the package unless the library's program stands beside this one.
Status check_present(const AllReduceLibrary& library);

struct AllReduceGroup {
  int ranks = 2;
  std::uint64_t size_bytes = 0;
  double timeout_s = 60;
  std::string arena;  // tag of bench/arena.sh, whose host r runs rank r; empty: this host
};

// Starts a fresh group of processes, waits for its end and reads what it measured. An error says
// what went wrong. Ensures: no process is left. Cost: at most timeout_s.
Result<GroupRun> run_group(const AllReduceLibrary& library, const std::string& algorithm,
                           const AllReduceGroup& group);

}  // namespace weft
