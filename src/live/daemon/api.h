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
#include "live/daemon/tokens.h"
#include "live/daemon/usage.h"
#include "live/http/service.h"

namespace weft::live {

// Numbers of queues, in the order they were first seen.
class Tenants {
 public:
  TenantId number_of(const std::string& queue, std::optional<TenantId> known = std::nullopt) {
    const std::lock_guard lock(mutex_);
    const auto next = known.value_or(static_cast<TenantId>(by_queue_.size()));
    return by_queue_.emplace(queue, next).first->second;
  }
  std::string name_of(TenantId number) const {
    const std::lock_guard lock(mutex_);
    for (const auto& [queue, its] : by_queue_) {
      if (its == number) return queue;
    }
    return "";
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, TenantId> by_queue_;
};

class Budgets;
class Forecasts;

// What handlers work with.
struct ApiParts {
  const Cluster& cluster;
  Brain& brain;
  Board& board;
  Fleet& fleet;
  DurableJournal& journal;
  Tenants& tenants;
  Tokens& tokens;
  UsageBook& usage;
  std::string log_root;
  std::function<void(bool now)> stop;  // asks the daemon to end; not now: once nothing runs
  Forecasts* forecasts = nullptr;      // null: nobody forecasts
  Budgets* budgets = nullptr;          // null: nobody has one
};

// A request that may be made: its address is known, its query and size are right, its caller may
// do that.
struct ApiCall {
  const ApiRequest& request;
  std::function<void(ApiAnswer)> answer;  // once, from any thread
  std::map<std::string, std::string> query;
  std::string id;              // that {id} of the pattern stands for
  std::optional<JobView> job;  // that {job} of the pattern names
  NodeId node = kNoNode;       // that {node} of the pattern names

  std::uint64_t number(const std::string& name, std::uint64_t otherwise) const;
  std::string text(const std::string& name) const;  // empty: not given
  bool flag(const std::string& name) const;         // given, and not as 0
};

class Api : public HttpService {
 public:
  // Requires: what the parts refer to outlives this.
  explicit Api(ApiParts parts);

  // Refuses who is not known (401), what is not there (404, 405) and what the caller's role does
  // not allow (403).
  Admission admit(const HttpHead& head) override;
  // Calls `answer` now or when the journal has it.
  void handle(const ApiRequest& request, Answer answer) override;

 private:
  ApiParts parts_;
};

}  // namespace weft::live
