// What the HTTP interface does, without the HTTP: requests as values, answers by a function that
// may be called later.
//
// One table (routes.h) says which requests there are, who may make them and how large they may be;
// a row names a handler, which is a function of its own in any file.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "live/daemon/brain.h"
#include "live/daemon/fleet.h"

namespace weft::live {

// What a caller may do; each may do what those before it may.
enum class Role : std::uint8_t { kUser, kOperator, kAdmin };
inline constexpr const char* kRoleNames[] = {"user", "operator", "admin"};

struct Caller {
  std::uint32_t uid = 0, gid = 0;
  std::string user;
  Role role = Role::kUser;
  bool may(Role needed) const { return role >= needed; }
};

struct ApiRequest {
  std::string method, target, body;
  Caller caller;
};

struct ApiAnswer {
  int status = 200;
  std::string body;
  std::string type = "application/json";
  std::string allow = {};  // of a 405: the methods that are known
};

// Numbers of queues, in the order they were first seen.
class Tenants {
 public:
  TenantId number_of(const std::string& queue, std::optional<TenantId> known = std::nullopt) {
    const std::lock_guard lock(mutex_);
    const auto next = known.value_or(static_cast<TenantId>(by_queue_.size()));
    return by_queue_.emplace(queue, next).first->second;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, TenantId> by_queue_;
};

// What handlers work with.
struct ApiParts {
  const Cluster& cluster;
  Brain& brain;
  Board& board;
  Fleet& fleet;
  DurableJournal& journal;
  Tenants& tenants;
  std::string policy, log_root;
  std::function<void()> stop;  // asks the daemon to end
};

// A request that may be made: its address is known, its query and size are right, its caller may
// do that.
struct ApiCall {
  const ApiRequest& request;
  std::function<void(ApiAnswer)> answer;  // once, from any thread
  std::map<std::string, std::string> query;
  std::optional<JobView> job;  // that {job} of the pattern names
  NodeId node = kNoNode;       // that {node} of the pattern names

  std::uint64_t number(const std::string& name, std::uint64_t otherwise) const;
  std::string text(const std::string& name) const;  // empty: not given
  bool flag(const std::string& name) const;         // given, and not as 0
};

class Api {
 public:
  using Answer = std::function<void(ApiAnswer)>;
  // Requires: what the parts refer to outlives this.
  explicit Api(ApiParts parts);

  // Calls `answer` once, now or when the journal has it, from any thread. From any thread.
  void handle(const ApiRequest& request, Answer answer);

 private:
  ApiParts parts_;
};

}  // namespace weft::live
