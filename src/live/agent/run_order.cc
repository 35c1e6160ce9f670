#include "live/agent/run_order.h"

#include <signal.h>
#include <string.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <set>

#include "live/agent/json_fields.h"

namespace weft::live {
namespace {

using Json = nlohmann::json;

constexpr std::int64_t kMostEpoch = std::int64_t{1} << 53;
constexpr std::int64_t kMostOrderRanks = 100'000;
constexpr std::size_t kMostUuidBytes = 64;
constexpr double kMostSeconds = 30 * 86400.0;
constexpr std::size_t kMostGroupBytes = 128;

bool is_safe_name(const std::string& name) {
  return !name.empty() && name.size() <= kMostUuidBytes &&
         std::all_of(name.begin(), name.end(), [](unsigned char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '-' || c == '_';
         });
}

std::vector<int> read_indices(JsonFields& fields, const char* name) {
  std::vector<int> out;
  const Json* list = fields.find(name);
  if (list == nullptr) return out;
  const auto is_index = [](const Json& value) {
    return value.is_number_unsigned() && value.get<std::uint64_t>() < 65536;
  };
  if (!list->is_array() || !std::all_of(list->begin(), list->end(), is_index)) {
    fields.complain(fmt::format("{} must be a list of indices", name));
    return out;
  }
  return list->get<std::vector<int>>();
}

RankShare read_rank(const Json& object, std::string& wrong) {
  JsonFields fields(object);
  RankShare rank;
  rank.rank = static_cast<int>(fields.whole("rank", 0, kMostOrderRanks, -1));
  rank.local = static_cast<int>(fields.whole("local", 0, kMostOrderRanks, 0));
  rank.devices = read_indices(fields, "devices");
  rank.milli = static_cast<int>(fields.whole("milli", 1, 1000, 1000));
  rank.memory = fields.whole("memory", 0, std::int64_t{1} << 60, 0);
  rank.cpu_milli = static_cast<int>(fields.whole("cpu_milli", 0, 10'000'000, 0));
  rank.cpu_more = fields.whole("cpu_more", 0, 1, 0) == 1;
  rank.memory_more = fields.whole("memory_more", 0, 1, 0) == 1;
  rank.cpus = read_indices(fields, "cpus");
  rank.network_limit = fields.number("network_limit", 0, 1e12, 0);
  rank.network_guarantee = fields.number("network_guarantee", 0, 1e12, 0);
  if (rank.rank < 0) fields.complain("rank is missing");
  if (!fields.wrong().empty()) wrong = "ranks: " + fields.wrong();
  return rank;
}

// A place to meet at is a word of a command line.
bool is_address(const std::string& text) {
  return text.size() <= kMostUuidBytes && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || c == '.' || c == ':' ||
                  c == '[' || c == ']';
         });
}

bool may_name_variable(const std::string& name) {
  return !name.empty() && name.find('=') == std::string::npos &&
         name.find('\0') == std::string::npos;
}

void read_variables(JsonFields& fields, const char* name, std::map<std::string, std::string>& out) {
  const Json* object = fields.find(name);
  if (object == nullptr) return;
  if (!object->is_object()) return fields.complain(fmt::format("{} must be an object", name));
  for (const auto& [key, value] : object->items()) {
    if (!may_name_variable(key) || !value.is_string() ||
        value.get_ref<const std::string&>().find('\0') != std::string::npos) {
      return fields.complain(fmt::format("{} must hold names and texts", name));
    }
    out[key] = value.get<std::string>();
  }
}

void read_job(const Json& job, RunOrder& order, std::string& wrong) {
  JsonFields fields(job);
  order.name = fields.text("name");
  order.user = fields.text("user");
  order.uid = fields.whole("uid", -1, 0xfffffffe, -1);
  order.gid = fields.whole("gid", -1, 0xfffffffe, -1);
  order.setup = fields.text("setup");
  order.run = fields.text("run");
  order.workdir = fields.text("workdir");
  order.log_dir = fields.text("log_dir");
  order.log_bytes = fields.whole("log_bytes", 4096, std::int64_t{1} << 50, order.log_bytes);
  read_variables(fields, "envs", order.envs);
  const std::string loss = fields.text("on_controller_loss", "continue");
  if (loss != "stop" && loss != "continue") {
    fields.complain("on_controller_loss must be stop or continue");
  }
  order.ends_without_controller = loss == "stop";
  const auto signal = read_signal(job, "checkpoint_signal", 0);
  if (signal.ok()) {
    order.checkpoint_signal = *signal;
  } else {
    fields.complain(signal.error().what);
  }
  order.grace_s = fields.number("grace_s", 0, kMostSeconds, order.grace_s);
  if (order.run.empty() && order.meet.empty()) fields.complain("run is missing");
  if (order.log_dir.empty() || order.log_dir.front() != '/') {
    fields.complain("log_dir must be an absolute path");
  }
  if (!order.workdir.empty() && order.workdir.front() != '/') {
    fields.complain("workdir must be an absolute path");
  }
  if (!fields.wrong().empty()) wrong = "job: " + fields.wrong();
}

}  // namespace

std::string RunKey::text() const { return fmt::format("{}.{}", uuid, epoch); }

std::string name_of(const RunKey& key, int rank) { return fmt::format("{}.{}", key.text(), rank); }

Result<RunKey> read_run_key(const Json& message) {
  JsonFields fields(message);
  RunKey key;
  key.uuid = fields.text("uuid");
  key.epoch = static_cast<std::uint64_t>(fields.whole("epoch", 0, kMostEpoch, -1));
  if (!is_safe_name(key.uuid)) {
    fields.complain("uuid must have 1 to 64 letters, digits and hyphens");
  }
  if (fields.find("epoch") == nullptr) fields.complain("epoch is missing");
  if (!fields.wrong().empty()) return fields.error();
  return key;
}

Result<RunKey> parse_run_key(const std::string& text) {
  const std::size_t dot = text.find('.');
  RunKey key{.uuid = text.substr(0, std::min(dot, text.size()))};
  const char* end = text.data() + text.size();
  if (dot != std::string::npos && is_safe_name(key.uuid)) {
    const auto [last, error] = std::from_chars(text.data() + dot + 1, end, key.epoch);
    if (error == std::errc{} && last == end) return key;
  }
  return Error{ErrorKind::kInvalidInput, fmt::format("'{}' is not UUID.EPOCH", text), ""};
}

Result<std::vector<RankShare>> read_ranks(const Json& message) {
  const auto list = message.find("ranks");
  if (list == message.end() || !list->is_array() || list->empty() ||
      list->size() > static_cast<std::size_t>(kMostOrderRanks)) {
    return Error{ErrorKind::kInvalidInput, "ranks must be a list that is not empty", ""};
  }
  std::vector<RankShare> ranks;
  std::set<int> seen;
  std::string wrong;
  for (const Json& object : *list) {
    ranks.push_back(read_rank(object, wrong));
    if (wrong.empty() && !seen.insert(ranks.back().rank).second) {
      wrong = fmt::format("ranks: rank {} is there twice", ranks.back().rank);
    }
    if (!wrong.empty()) return Error{ErrorKind::kInvalidInput, wrong, ""};
  }
  return ranks;
}

Result<RunOrder> read_run_order(const Json& message) {
  const auto key = read_run_key(message);
  if (!key.ok()) return key.error();
  JsonFields fields(message);
  RunOrder order;
  order.key = *key;
  order.number = static_cast<std::uint64_t>(fields.whole("number", 0, kMostEpoch, 0));
  order.group = fields.text("group");
  order.meet = fields.text("meet");
  if (order.group.size() > kMostGroupBytes) fields.complain("group is too long");
  if (!is_address(order.meet)) fields.complain("meet must be an address with a port");
  if (!order.meet.empty() && order.group.empty()) fields.complain("meet needs a group");
  std::string wrong;
  if (const Json* job = fields.find("job")) {
    read_job(*job, order, wrong);
  } else {
    wrong = "job is missing";
  }
  if (!wrong.empty()) fields.complain(wrong);
  // What the cluster sets comes over what the user sets.
  read_variables(fields, "environment", order.envs);
  if (!fields.wrong().empty()) return fields.error();
  auto ranks = read_ranks(message);
  if (!ranks.ok()) return ranks.error();
  order.ranks = std::move(*ranks);
  return order;
}

runtime::Secret group_secret(const runtime::Secret& cluster, const std::string& group) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(group.data());
  const std::span<const std::uint8_t> part(bytes, group.size());
  return {runtime::prove(cluster, "group", {&part, 1})};
}

Result<int> read_signal(const Json& object, const char* name, int otherwise) {
  const auto found = object.find(name);
  if (found == object.end() || found->is_null()) return otherwise;
  if (found->is_number_unsigned() && found->get<std::uint64_t>() < static_cast<unsigned>(_NSIG)) {
    return found->get<int>();
  }
  if (found->is_string()) {
    std::string word = found->get<std::string>();
    if (word.empty()) return otherwise;
    if (word.starts_with("SIG")) word.erase(0, 3);
    for (int number = 1; number < SIGRTMIN; ++number) {
      const char* known = sigabbrev_np(number);
      if (known != nullptr && word == known) return number;
    }
  }
  return Error{ErrorKind::kInvalidInput, fmt::format("{} must be a signal", name), ""};
}

}  // namespace weft::live
