#include "live/agent/rank_plan.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "live/agent/run_order.h"
#include "runtime/launch/remote_command.h"

namespace weft::live {

Result<RankPlan> read_rank_plan(const FolderPaths& paths, const RunKey& key, int rank) {
  const auto text = read_file(paths.order(key), kMostOrderBytes);
  if (!text.ok()) return text.error();
  const auto json = nlohmann::json::parse(*text, nullptr, false);
  auto order = json.is_object() ? read_run_order(json)
                                : Error{ErrorKind::kInvalidInput, "the order is not whole", ""};
  if (!order.ok()) return order.error();
  RankPlan plan;
  plan.order = std::move(*order);
  const auto mine = std::find_if(plan.order.ranks.begin(), plan.order.ranks.end(),
                                 [&](const RankShare& share) { return share.rank == rank; });
  if (mine == plan.order.ranks.end()) {
    return Error{ErrorKind::kInvalidInput, fmt::format("rank {} is not in the order", rank), ""};
  }
  plan.share = *mine;
  const auto setups = json.find("setups");
  const std::string name = std::to_string(rank);
  if (setups != json.end() && setups->contains(name)) plan.setup = read_rank_setup((*setups)[name]);
  return plan;
}

CommandPlan command_plan(const RankPlan& rank, const std::string& progress) {
  CommandPlan plan;
  plan.workdir = rank.order.workdir;
  plan.environment = rank_environment(rank.order, rank.share, rank.setup, progress);
  plan.user = rank.order.user;
  plan.uid = rank.order.uid;
  plan.gid = rank.order.gid;
  plan.group_files = rank.setup.group_files;
  plan.data_limit = rank.setup.data_limit;
  plan.cpus = rank.setup.cpus;
  plan.network_space = rank.setup.network_space;
  return plan;
}

std::string script_of(const RunOrder& order) {
  if (order.meet.empty()) return order.run;
  std::error_code unknown;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", unknown);
  return fmt::format("exec {} agent meet {}", runtime::shell_quoted(program.string()),
                     runtime::shell_quoted(order.meet));
}

}  // namespace weft::live
