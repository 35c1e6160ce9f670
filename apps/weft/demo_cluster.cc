#include "demo_cluster.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "base/files.h"
#include "live/daemon/daemon.h"
#include "live/http/poll.h"
#include "rank_processes.h"
#include "runtime/launch/environment.h"

namespace weft {
namespace {

using Json = nlohmann::json;

constexpr int kStartLooks = 300, kEndLooks = 100;  // tenths of a second

}  // namespace

DemoCluster::DemoCluster(std::string folder, std::string store)
    : folder_(std::move(folder)), store_(std::move(store)), client_(live::socket_of(store_)) {}

Result<std::unique_ptr<DemoCluster>> DemoCluster::start(const std::string& folder,
                                                        const DemoPark& park,
                                                        const std::string& policy) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  for (const auto& [name, text] :
       {std::pair{"cluster.yaml", park.yaml()}, std::pair{"policy.yaml", policy}}) {
    if (const Status s = write_file_atomically(path_in(folder, name), text); !s.ok()) {
      return s.error();
    }
  }
  std::unique_ptr<DemoCluster> cluster(new DemoCluster(folder, path_in(folder, "store")));
  std::vector<std::string> words = {own_program(), "up",
                                    "--cluster",   path_in(folder, "cluster.yaml"),
                                    "--policy",    path_in(folder, "policy.yaml"),
                                    "--store",     cluster->store_};
  if (park.shaped) words.push_back("--namespaces");
  const std::string log = path_in(folder, "daemon.log");
  auto daemon = runtime::ChildProcess::start(
      {words[0], words, runtime::full_environment({}, {}), log, log, std::nullopt});
  if (!daemon.ok()) return daemon.error();
  cluster->daemon_.emplace(std::move(*daemon));
  if (live::poll_until([&] { return cluster->all_here(); }, kStartLooks)) return cluster;
  const auto said = read_file(log, 4096);
  return Error{ErrorKind::kIo, "the demo's daemon and its nodes did not come up within 30 s",
               said.ok() ? *said : log};
}

bool DemoCluster::all_here() {
  const auto answer = ask("GET", "/v1/nodes");
  if (!answer.ok()) return false;
  const Json& nodes = answer->at("nodes");
  return std::all_of(nodes.begin(), nodes.end(),
                     [](const Json& node) { return node.at("in_service").get<bool>(); });
}

Result<Json> DemoCluster::ask(const std::string& method, const std::string& target,
                              const Json& body) {
  const auto reply = client_.ask(method, target, body.is_null() ? "" : body.dump(), 10);
  if (!reply.ok()) return reply.error();
  Json json = Json::parse(reply->body, nullptr, false);
  if (reply->status >= 400 || json.is_discarded()) {
    return Error{ErrorKind::kInvalidInput, fmt::format("{} {}: {}", method, target, reply->body),
                 ""};
  }
  return json;
}

DemoCluster::~DemoCluster() {
  if (!daemon_) return;
  const auto jobs = ask("GET", "/v1/jobs");
  if (jobs.ok()) {
    for (const Json& job : jobs->at("jobs")) {
      static_cast<void>(ask("POST", "/v1/jobs/" + job.at("uuid").get<std::string>() + "/cancel"));
    }
    live::poll_until(
        [&] {
          const auto left = ask("GET", "/v1/jobs");
          return !left.ok() || left->at("jobs").empty();
        },
        kEndLooks);
  }
  static_cast<void>(ask("POST", "/v1/down?now=1"));
  if (live::poll_until([&] { return daemon_->reap().has_value(); }, kEndLooks)) return;
  daemon_->kill_here();
  live::poll_until([&] { return daemon_->reap().has_value(); }, kEndLooks);
}

}  // namespace weft
