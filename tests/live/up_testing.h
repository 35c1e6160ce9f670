// A running daemon for tests.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "live/daemon/daemon.h"
#include "live/http/client.h"
#include "tests/live/launch_testing.h"

namespace weft {

// A `weft up` on a store of its own; whatever it started is ended afterwards.
class Up {
 public:
  explicit Up(std::vector<std::string> more = {}) : more_(std::move(more)) { start(); }
  ~Up() {
    if (lives(pid())) weft("down --now");
    end(SIGKILL);
  }
  // `all_nodes`: is not there before its agents are, if it has some.
  void start(bool all_nodes = true) {
    std::vector<std::string> words = {WEFT_BINARY, "up", "--store", store(), "--lease", "2"};
    words.insert(words.end(), more_.begin(), more_.end());
    const auto asked = [&](const char* option) {
      return std::find(more_.begin(), more_.end(), option) != more_.end();
    };
    if (!asked("--cluster")) {
      words.insert(words.end(), {"--cluster", "2x2"});
    }
    auto started = runtime::ChildProcess::start(
        {WEFT_BINARY, words, runtime::full_environment({}, {}), scratch.path("up.out"),
         scratch.path("up.err"), std::nullopt});
    ASSERT_TRUE(started.ok());
    process_.emplace(std::move(*started));
    EXPECT_TRUE(wait_until([&] {
      const auto nodes = ask("GET", "/v1/nodes");
      if (!nodes.is_object() || !nodes.contains("nodes")) return false;
      for (const nlohmann::json& node : nodes["nodes"]) {
        if (!node["connected"].get<bool>() && all_nodes && !asked("--no-agents")) return false;
      }
      return true;
    })) << slurp(scratch.path("up.err"));
  }
  void end(int number) {
    if (!process_ || process_->reap()) return;
    ::kill(process_->pid(), number);
    wait_until([&] { return process_->reap().has_value(); });
  }
  pid_t pid() const { return process_ ? process_->pid() : -1; }
  std::string store() const { return scratch.path(store_); }
  // From the next start on.
  void use_store(const std::string& name) { store_ = name; }
  nlohmann::json ask(const std::string& method, const std::string& target,
                     const std::string& body = "") {
    live::HttpClient client(live::socket_of(store()));
    const auto reply = client.ask(method, target, body, 5);
    status = reply.ok() ? reply->status : 0;
    return reply.ok() ? nlohmann::json::parse(reply->body, nullptr, false) : nlohmann::json();
  }
  CommandResult weft(const std::string& words) {
    return run_weft(scratch, words + " --store " + store());
  }
  std::string submit(const std::string& name, const std::string& run,
                     const std::string& more = "") {
    const std::string file = scratch.write(
        name + ".yaml", "name: " + name + "\nworkdir: " + scratch.path("") +
                            "\nresources: {accelerators: 1}\nrun: \"" + run + "\"\n" + more);
    const CommandResult result = weft("submit " + file + " --json");
    EXPECT_EQ(result.code, 0) << result.err;
    return result.code == 0
               ? nlohmann::json::parse(result.out).at("jobs").at(0).at("uuid").get<std::string>()
               : "";
  }
  std::string state(const std::string& job) {
    const nlohmann::json view = ask("GET", "/v1/jobs/" + job);
    return view.is_object() ? view.value("state", "unknown") : "unknown";
  }
  bool comes_to(const std::string& job, const std::string& wanted) {
    return wait_until([&] { return state(job) == wanted; });
  }

  // Where it listens for callers with a token.
  std::string url() const {
    const std::string said = slurp(scratch.path("up.out"));
    const std::size_t from = said.find("http"), to = said.find(" for callers");
    return from < to && to != std::string::npos ? said.substr(from, to - from) : "";
  }
  // A token of whoever runs this test, in a file that only they can read.
  std::string token(const std::string& name, const std::string& options) {
    const CommandResult made = weft("token create " + options);
    EXPECT_EQ(made.code, 0) << made.err;
    const std::string path = scratch.write(name, made.out);
    ::chmod(path.c_str(), 0600);
    return path;
  }

  Scratch scratch;
  int status = 0;

 private:
  std::vector<std::string> more_;
  std::string store_ = "store";
  std::optional<runtime::ChildProcess> process_;
};

}  // namespace weft
