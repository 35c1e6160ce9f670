// What an agent is told to run: one run of a job, and its ranks on this node (docs/agents.md).
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "runtime/net/secret.h"

namespace weft::live {

inline constexpr std::uint64_t kMostOrderBytes = 4 << 20;  // of an order that is kept in a file

// One start of a job. Both parts are names of files too, so only safe ones are read.
struct RunKey {
  std::string uuid;
  std::uint64_t epoch = 0;

  std::string text() const;  // UUID.EPOCH
  auto operator<=>(const RunKey&) const = default;
};

// UUID.EPOCH.RANK
std::string name_of(const RunKey& key, int rank);

// What one rank gets of this node.
struct RankShare {
  int rank = 0, local = 0;
  std::vector<int> devices;  // indices on the node
  int milli = 1000;          // of each of them
  Bytes memory = 0;          // 0: no limit
  int cpu_milli = 0;         // 0: no limit
  // What is written is guaranteed, and what idles beyond may be used.
  bool cpu_more = false, memory_more = false;
  std::vector<int> cpus;     // empty: all of the node
  double network_limit = 0;  // bytes per second; 0: none
  double network_guarantee = 0;

  bool operator==(const RankShare&) const = default;
};

struct RunOrder {
  RunKey key;
  std::uint64_t number = 0;
  std::string name, user, setup, run, workdir, log_dir;
  std::int64_t uid = -1, gid = -1;  // -1: the agent's own
  std::map<std::string, std::string> envs;
  bool ends_without_controller = false;  // on_controller_loss: stop
  int checkpoint_signal = 0;
  Seconds grace_s = 30;
  Bytes log_bytes = 64 << 20;  // kept of a rank's output, at most
  std::vector<RankShare> ranks;
  // Ranks of the same group find its secret in WEFT_SECRET_FILE; empty: they need none.
  std::string group;
  // In place of `run`: the ranks of the group meet there (host:port).
  std::string meet;
};

// The body of a `start` message. The error names the field.
Result<RunOrder> read_run_order(const nlohmann::json& message);
// The `ranks` of a `start` or `resize`.
Result<std::vector<RankShare>> read_ranks(const nlohmann::json& message);
Result<RunKey> read_run_key(const nlohmann::json& message);
// From text "UUID.EPOCH".
Result<RunKey> parse_run_key(const std::string& text);

// What ranks of a group prove themselves by. It is made of the cluster's secret, and so the same on
// every node without being sent.
runtime::Secret group_secret(const runtime::Secret& cluster, const std::string& group);

// A signal by number or by name with or without SIG; the field may be missing.
Result<int> read_signal(const nlohmann::json& object, const char* name, int otherwise);

}  // namespace weft::live
