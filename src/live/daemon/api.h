// What the HTTP interface does, without the HTTP: requests as values, answers by a function that
// may be called later.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "live/daemon/brain.h"
#include "live/daemon/fleet.h"

namespace weft::live {

// Who asks, as the kernel says.
struct Caller {
  std::uint32_t uid = 0, gid = 0;
  std::string user;
  bool admin = false;  // root, or whoever runs the daemon
};

struct ApiRequest {
  std::string method, target, body;
  Caller caller;
};

struct ApiAnswer {
  int status = 200;
  std::string body;
  std::string type = "application/json";
};

class Api {
 public:
  using Answer = std::function<void(ApiAnswer)>;
  struct Parts {
    const Cluster& cluster;
    Brain& brain;
    Board& board;
    Fleet& fleet;
    DurableJournal& journal;
    std::string policy, log_root;
    std::function<void()> stop;  // asks the daemon to end
  };
  explicit Api(Parts parts);

  // Calls `answer` once, now or when the journal has it, from any thread. From any thread.
  void handle(const ApiRequest& request, Answer answer);

 private:
  using Json = nlohmann::json;
  struct Target {
    std::vector<std::string> path;  // behind /v1
    std::map<std::string, std::string> query;
  };
  void jobs(const ApiRequest& request, const Target& target, const Answer& answer);
  void submit(const ApiRequest& request, const Answer& answer);
  void list(const Target& target, const Answer& answer);
  void one_job(const ApiRequest& request, const Target& target, const Answer& answer);
  void cancel(const ApiRequest& request, const JobView& job, const Answer& answer);
  void log_part(const Target& target, const JobView& job, const Answer& answer);
  void nodes(const ApiRequest& request, const Target& target, const Answer& answer);
  void change_node(const ApiRequest& request, NodeId node, const std::string& verb,
                   const Answer& answer);
  void events(const Target& target, const Answer& answer);
  void status(const Answer& answer);
  void metrics(const Answer& answer);
  Json view_of(const JobView& job) const;
  TenantId tenant_of(const std::string& queue);

  Parts parts_;
  std::mutex mutex_;
  std::map<std::string, TenantId> tenants_;  // by queue
};

}  // namespace weft::live
