// What a rank finds in its environment: the names that torchrun sets, so that scripts written for
// it run unchanged, and our own (WEFT_…).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "runtime/launch/hosts.h"
#include "runtime/launch/launcher.h"

namespace weft::runtime {

using Variables = std::vector<std::pair<std::string, std::string>>;

struct JobFacts {
  std::string job;    // a UUID
  std::string store;  // host:port
  std::string master_address;
  int master_port = 0;  // for a store that the script's rank 0 serves itself
  std::string log_dir;  // empty: not on that host
  LaunchRules rules;
  std::vector<Host> hosts;
  Variables user;  // --env, which comes last
};

// Everything but WEFT_SECRET_FILE, whose path depends on the host.
// Requires: start.world <= slots_of(facts.hosts).
Variables rank_variables(const JobFacts& facts, const StartRank& start);

// Defaults that yield to what the user has set: PYTHONUNBUFFERED and, as torchrun has it when ranks
// share a host, OMP_NUM_THREADS.
Variables default_variables(int most_ranks);

// `NAME=value` with a name that we do not set ourselves.
Result<std::pair<std::string, std::string>> parse_variable(const std::string& text);

// The environment of this process with `defaults` where it has none and `variables` over it, as
// execve() takes it.
std::vector<std::string> full_environment(const Variables& defaults, const Variables& variables);

}  // namespace weft::runtime
