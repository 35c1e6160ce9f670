// A daemon with local nodes, run for a while by `weft demo`.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/result.h"
#include "demo_plan.h"
#include "live/http/client.h"
#include "runtime/launch/child_process.h"

namespace weft {

class DemoCluster {
 public:
  // Starts it in `folder` and waits for its nodes. Error: it did not come up in time; what it said
  // is in the error.
  static Result<std::unique_ptr<DemoCluster>> start(const std::string& folder, const DemoPark& park,
                                                    const std::string& policy);
  // Ends it, its agents and whatever runs.
  ~DemoCluster();
  DemoCluster(const DemoCluster&) = delete;
  DemoCluster& operator=(const DemoCluster&) = delete;

  // Asks and parses; a status of 400 and more is an error with what the daemon said.
  Result<nlohmann::json> ask(const std::string& method, const std::string& target,
                             const nlohmann::json& body = nullptr);
  const std::string& store() const { return store_; }

 private:
  DemoCluster(std::string folder, std::string store);
  bool all_here();

  std::string folder_, store_;
  std::optional<runtime::ChildProcess> daemon_;
  live::HttpClient client_;
};

}  // namespace weft
