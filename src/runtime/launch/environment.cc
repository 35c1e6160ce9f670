#include "runtime/launch/environment.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "base/delimited.h"

extern char** environ;

namespace weft::runtime {
namespace {

// MASTER_ADDR and MASTER_PORT may be given: a script may have to meet others elsewhere.
bool is_ours(const std::string& name) {
  static const std::vector<std::string> names = {
      "RANK",      "LOCAL_RANK",       "WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_RANK",
      "ROLE_RANK", "GROUP_WORLD_SIZE", "ROLE_NAME",  "ROLE_WORLD_SIZE"};
  return name.starts_with("WEFT_") || name.starts_with("TORCHELASTIC_") ||
         std::find(names.begin(), names.end(), name) != names.end();
}

bool is_name(const std::string& name) {
  const auto allowed = [](char c) {
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  return !name.empty() && !(name[0] >= '0' && name[0] <= '9') &&
         std::all_of(name.begin(), name.end(), allowed);
}

}  // namespace

Variables rank_variables(const JobFacts& facts, const StartRank& start) {
  const Place place = place_of(facts.hosts, start.rank, start.world);
  const auto number = [](auto value) { return fmt::format("{}", value); };
  const std::string rank = number(start.rank), world = number(start.world);
  Variables variables = {
      {"RANK", rank},
      {"LOCAL_RANK", number(place.local_rank)},
      {"WORLD_SIZE", world},
      {"LOCAL_WORLD_SIZE", number(place.local_world)},
      {"GROUP_RANK", number(place.host)},
      {"GROUP_WORLD_SIZE", number(place.groups)},
      {"ROLE_RANK", rank},
      {"ROLE_WORLD_SIZE", world},
      {"ROLE_NAME", "default"},
      {"MASTER_ADDR", facts.master_address},
      {"MASTER_PORT", number(facts.master_port)},
      {"TORCHELASTIC_RUN_ID", facts.job},
      {"TORCHELASTIC_RESTART_COUNT", number(start.epoch - 1)},
      {"TORCHELASTIC_MAX_RESTARTS", number(facts.rules.max_restarts)},
      {"WEFT_JOB", facts.job},
      {"WEFT_JOB_EPOCH", number(start.epoch)},
      {"WEFT_MEMBER", number(start.member)},
      {"WEFT_STORE", facts.store},
  };
  if (!facts.log_dir.empty()) variables.emplace_back("WEFT_LOG_DIR", facts.log_dir);
  if (start.join) variables.emplace_back("WEFT_JOIN", "1");
  if (facts.rules.elastic()) {
    variables.emplace_back("WEFT_ELASTIC",
                           fmt::format("{}:{}", facts.rules.least, facts.rules.most));
  }
  variables.insert(variables.end(), facts.user.begin(), facts.user.end());
  return variables;
}

Variables default_variables(int most_ranks) {
  // Ranks write to files, where Python would hold back its output, also when it is killed.
  Variables defaults = {{"PYTHONUNBUFFERED", "1"}};
  if (most_ranks > 1) defaults.emplace_back("OMP_NUM_THREADS", "1");
  return defaults;
}

Result<std::pair<std::string, std::string>> parse_variable(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || !is_name(text.substr(0, equals))) {
    return Error{ErrorKind::kInvalidInput, fmt::format("--env {} is not NAME=VALUE", shown(text)),
                 ""};
  }
  const std::string name = text.substr(0, equals);
  if (is_ours(name)) {
    return Error{ErrorKind::kInvalidInput,
                 fmt::format("--env sets {}, which the launcher sets for every rank", name), ""};
  }
  return std::pair(name, text.substr(equals + 1));
}

std::vector<std::string> full_environment(const Variables& defaults, const Variables& variables) {
  std::map<std::string, std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::size_t equals = text.find('=');
    // What an outer launcher told us is not for these ranks.
    if (equals == std::string::npos || is_ours(text.substr(0, equals))) continue;
    all[text.substr(0, equals)] = text.substr(equals + 1);
  }
  for (const auto& [name, value] : defaults) all.try_emplace(name, value);
  for (const auto& [name, value] : variables) all[name] = value;
  std::vector<std::string> result;
  for (const auto& [name, value] : all) result.push_back(name + "=" + value);
  return result;
}

}  // namespace weft::runtime
