// The process that keeps one rank: it claims the run, starts the user's command, outlives the
// agent's death, and ends the command when no agent of its node renews its lease.
#pragma once

#include "base/result.h"
#include "live/agent/run_order.h"

namespace weft::live {

struct KeeperWords {
  std::string folder;  // of the agent
  RunKey key;
  int rank = 0;
  int link = -1;  // to the agent; closed in the end
};

// Runs until the rank's command and all that descends from it are gone and its end is written down,
// or until it is clear that it must not start. Requires: the only thread of a process of its own.
Status keep_rank(const KeeperWords& words);

}  // namespace weft::live
