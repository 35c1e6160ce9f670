// Control groups of version 1, 2 or both, by which a node keeps ranks to their shares. One group
// for the node, one below it for each rank: weft/NODE/UUID.EPOCH.RANK.
#pragma once

#include <sys/types.h>

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "live/agent/process_tree.h"
#include "live/agent/rank_setup.h"

namespace weft::live {

// 0 and empty: no limit.
struct GroupLimits {
  int cpu_milli = 0;
  int weight_milli = 0;  // against others on the same processors; 1000 is usual
  std::vector<int> cpus;
  Bytes memory = 0;
  Bytes kept_memory = 0;  // taken last when memory is short; what is used beyond is taken first
  std::vector<std::pair<int, int>> denied;  // numbers of device files
};

// Where groups of ours can be made for a controller.
struct GroupBase {
  std::string folder;
  bool unified = false;  // version 2
};

// What each controller (cpu, cpuacct, cpuset, memory, devices, freezer) is mounted as, and the
// group of this process in it, from the text of /proc/self/mounts and /proc/self/cgroup. Ours go
// below that group, so that the limits it has hold for ranks too. A controller that both versions
// could serve is of the first, because the kernel allows only one.
std::map<std::string, GroupBase> find_group_bases(const std::string& mounts,
                                                  const std::string& own_groups);

class ControlGroups {
 public:
  // Makes the node's groups and limits them. What cannot be used is left out, and `notes` says why.
  static ControlGroups open(const std::map<std::string, GroupBase>& bases, const std::string& node,
                            const GroupLimits& limits, std::vector<std::string>& notes);
  ControlGroups() = default;  // none at all

  // What can be enforced: names as in `can` of docs/agents.md.
  std::vector<std::string> can() const;
  bool has(const std::string& controller) const { return node_.contains(controller); }

  // Writes into `setup` which groups the rank `name` will have and how it joins them.
  void plan(const std::string& name, RankSetup& setup) const;
  // Makes the groups that were planned. Error: the kernel refuses them or a limit.
  Status make(const RankSetup& setup, const GroupLimits& limits) const;
  // Other limits for groups that exist.
  Status change(const RankSetup& setup, const GroupLimits& limits) const;
  // Deletes the node's groups where no rank's are left.
  void drop() const;

 private:
  Status limit(const std::map<std::string, std::string>& folders, const GroupLimits& limits) const;

  std::map<std::string, GroupBase> node_;  // the node's group for each controller that is used
  int cpu_milli_ = 0;                      // of the node
};

// These need only what the rank's setup says, also when the agent before made the groups.

// Ends every process of the rank's groups; true when there is none left and the groups are gone.
// Cost: to be called again until then. True when there are no groups.
bool clear_groups(const RankSetup& setup);
// Whether the rank was frozen by its groups, and whether all of it stands still already.
bool is_frozen(const RankSetup& setup);
bool is_frozen_whole(const RankSetup& setup);
// What the groups' processes used, also those that have ended. Nothing when it is not counted.
std::optional<TreeUsage> usage_of_groups(const RankSetup& setup);

}  // namespace weft::live
