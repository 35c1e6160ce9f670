#include "live/agent/rank_setup.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <nlohmann/json.hpp>

namespace weft::live {
namespace {

using Json = nlohmann::json;

constexpr std::array kPassedOn = {"PATH", "LANG",   "LC_ALL",          "TZ",
                                  "TERM", "TMPDIR", "LD_LIBRARY_PATH", "PYTHONPATH"};

void set_user(const RunOrder& order, std::map<std::string, std::string>& variables) {
  const uid_t uid = order.uid < 0 ? geteuid() : static_cast<uid_t>(order.uid);
  const passwd* entry = getpwuid(uid);
  const std::string name = entry != nullptr ? entry->pw_name : order.user;
  if (!name.empty()) variables["USER"] = variables["LOGNAME"] = name;
  variables["HOME"] = entry != nullptr && *entry->pw_dir != '\0' ? entry->pw_dir : "/";
  variables["SHELL"] = "/bin/sh";
}

int threads_for(const RankShare& rank) {
  if (rank.cpu_milli > 0) return std::max(1, rank.cpu_milli / 1000);
  return std::max(1, static_cast<int>(rank.cpus.size()));
}

}  // namespace

Json to_json(const RankSetup& setup) {
  return {{"groups", setup.groups},
          {"group_files", setup.group_files},
          {"oom_file", setup.oom_file},
          {"freeze_file", setup.freeze_file},
          {"freeze_word", setup.freeze_word},
          {"thaw_word", setup.thaw_word},
          {"environment", setup.environment},
          {"data_limit", setup.data_limit},
          {"cpus", setup.cpus},
          {"network_space", setup.network_space},
          {"traffic_class", setup.traffic_class}};
}

RankSetup read_rank_setup(const Json& object) {
  RankSetup setup;
  setup.groups = object.value("groups", setup.groups);
  setup.group_files = object.value("group_files", setup.group_files);
  setup.oom_file = object.value("oom_file", "");
  setup.freeze_file = object.value("freeze_file", "");
  setup.freeze_word = object.value("freeze_word", "");
  setup.thaw_word = object.value("thaw_word", "");
  setup.environment = object.value("environment", setup.environment);
  setup.data_limit = object.value("data_limit", setup.data_limit);
  setup.cpus = object.value("cpus", setup.cpus);
  setup.network_space = object.value("network_space", "");
  setup.traffic_class = object.value("traffic_class", 0);
  return setup;
}

std::string mark_of(const RunKey& key, int rank) { return "WEFT_RUN=" + name_of(key, rank); }

std::vector<std::string> rank_environment(const RunOrder& order, const RankShare& rank,
                                          const RankSetup& setup, const std::string& progress) {
  std::map<std::string, std::string> variables;
  variables["PATH"] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
  for (const char* name : kPassedOn) {
    if (const char* value = getenv(name)) variables[name] = value;
  }
  set_user(order, variables);
  variables["OMP_NUM_THREADS"] = std::to_string(threads_for(rank));
  variables["PYTHONUNBUFFERED"] = "1";
  for (const auto& [name, value] : order.envs) variables[name] = value;
  for (const auto& [name, value] : setup.environment) variables[name] = value;
  variables["RANK"] = std::to_string(rank.rank);
  variables["LOCAL_RANK"] = std::to_string(rank.local);
  variables["WEFT_DEVICES"] = fmt::format("{}", fmt::join(rank.devices, ","));
  variables["WEFT_PROGRESS"] = progress;
  if (progress.empty()) variables.erase("WEFT_PROGRESS");
  std::vector<std::string> out = {mark_of(order.key, rank.rank)};
  for (const auto& [name, value] : variables) out.push_back(name + "=" + value);
  return out;
}

}  // namespace weft::live
