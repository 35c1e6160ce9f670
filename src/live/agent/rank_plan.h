// All that is known of one rank of a run, read from the agent's folder by whoever starts its
// processes.
#pragma once

#include "live/agent/folder.h"
#include "live/agent/rank_process.h"
#include "live/agent/rank_setup.h"
#include "live/agent/run_order.h"

namespace weft::live {

struct RankPlan {
  RunOrder order;
  RankShare share;
  RankSetup setup;
};

// Error: the order is not there or not whole, or the rank is not in it.
Result<RankPlan> read_rank_plan(const FolderPaths& paths, const RunKey& key, int rank);

// Where and as whom a process of the rank runs; what it runs and its descriptors are left open.
// `progress`: path of the progress socket; empty: none.
CommandPlan command_plan(const RankPlan& rank, const std::string& progress);

// What a rank runs after its `setup`: the user's command, or this very program as the place where a
// group meets (`weft agent meet`).
std::string script_of(const RunOrder& order);

}  // namespace weft::live
