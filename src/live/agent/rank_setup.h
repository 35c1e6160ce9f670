// What the agent adds to an order for one rank, and the environment that comes of both.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "live/agent/run_order.h"

namespace weft::live {

struct RankSetup {
  std::map<std::string, std::string> groups;       // folder of the control group by controller
  std::vector<std::string> group_files;            // that the command writes itself into
  std::string oom_file;                            // has a line `oom_kill N`; empty: none
  std::string freeze_file;                         // empty: by signals
  std::string freeze_word, thaw_word;              // to write there
  std::map<std::string, std::string> environment;  // devices, pacing
  Bytes data_limit = 0;                            // where no control group limits memory
  std::vector<int> cpus;                           // where no control group chooses processors
  int traffic_class = 0;                           // of the node's link; 0: the one of all
  std::string network_space;                       // file of the network namespace; empty: ours
};

nlohmann::json to_json(const RankSetup& setup);
// Requires: made by to_json(); what is missing stays as it is.
RankSetup read_rank_setup(const nlohmann::json& object);

// The mark that every process of the rank carries in its environment.
std::string mark_of(const RunKey& key, int rank);

// The whole environment of a rank's command as NAME=value: a few variables of the agent's own
// (search paths, language), who the user is, then what the job says, then what the cluster says.
// Nothing else of the agent's environment gets through.
std::vector<std::string> rank_environment(const RunOrder& order, const RankShare& rank,
                                          const RankSetup& setup, const std::string& progress);

}  // namespace weft::live
