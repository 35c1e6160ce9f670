// A controller inside the test that drives real agent processes, and what jobs leave behind.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "runtime/net/listener.h"
#include "tests/live/launch_testing.h"

namespace weft {

using AgentJson = nlohmann::json;

// Accepts agents, welcomes them and renews their lease; remembers all they say. Members are of the
// agent that came last.
class FakeController {
 public:
  explicit FakeController(double lease_s = 10)
      : lease_s_(lease_s), secret_(*runtime::Secret::fresh()) {
    auto reactor = runtime::Reactor::start();
    reactor_ = std::move(*reactor);
    runtime::Connection::Settings settings;
    settings.identity = {secret_, runtime::job_of(secret_), "controller"};
    auto listener = runtime::Listener::open(
        *reactor_, "127.0.0.1:0", settings,
        [this](const std::shared_ptr<runtime::Connection>& c) { accept(c); });
    listener_ = std::move(*listener);
    reactor_->call([&] { renew(); });
  }
  ~FakeController() {
    listener_.reset();
    reactor_->call([&] {
      if (connection_) connection_->close();
    });
  }
  FakeController(const FakeController&) = delete;
  FakeController& operator=(const FakeController&) = delete;

  std::string address() const { return "127.0.0.1:" + std::to_string(listener_->port()); }
  std::string write_secret(const Scratch& scratch) const {
    const std::string path = scratch.write("secret", secret_.hex() + "\n");
    chmod(path.c_str(), 0600);
    return path;
  }
  void set_term(std::uint64_t term) { term_ = term; }
  void set_renewing(bool renewing) { renewing_ = renewing; }

  void send(AgentJson message) {
    if (!message.contains("term")) message["term"] = term_.load();
    reactor_->post([this, text = message.dump()] {
      if (connection_) connection_->send(1, text);
    });
  }
  void hang_up() {
    reactor_->call([&] {
      if (connection_) connection_->close();
      connection_.reset();
    });
  }

  // The messages so far that fit.
  std::vector<AgentJson> all(const AgentJson& pattern) const {
    const std::lock_guard lock(mutex_);
    std::vector<AgentJson> found;
    for (const AgentJson& message : messages_) {
      if (fits(message, pattern)) found.push_back(message);
    }
    return found;
  }
  // The n-th message that fits; null at the deadline.
  AgentJson wait(const AgentJson& pattern, std::size_t n = 1, double deadline_s = kDeadline_s) {
    std::unique_lock lock(mutex_);
    AgentJson found;
    changed_.wait_for(lock, std::chrono::duration<double>(deadline_s), [&] {
      std::size_t count = 0;
      for (const AgentJson& message : messages_) {
        if (fits(message, pattern) && ++count == n) {
          found = message;
          return true;
        }
      }
      return false;
    });
    return found;
  }
  void clear() {
    const std::lock_guard lock(mutex_);
    messages_.clear();
  }
  // All but heartbeats, for messages of failed tests.
  std::string said() const {
    const std::lock_guard lock(mutex_);
    std::string text;
    for (const AgentJson& message : messages_) {
      const std::string op = message.value("op", "");
      if (op != "alive" && op != "usage") text += message.dump() + "\n";
    }
    return text;
  }

 private:
  static bool fits(const AgentJson& message, const AgentJson& pattern) {
    for (const auto& [name, value] : pattern.items()) {
      const auto found = message.find(name);
      if (found == message.end() || *found != value) return false;
    }
    return true;
  }
  void accept(const std::shared_ptr<runtime::Connection>& connection) {
    runtime::Connection::Events events;
    const std::weak_ptr<runtime::Connection> self = connection;
    events.on_frame = [this, self](std::uint16_t, runtime::ByteView body) {
      const auto* text = reinterpret_cast<const char*>(body.data());
      AgentJson message = AgentJson::parse(text, text + body.size(), nullptr, false);
      const std::string op = message.value("op", "");
      if (op == "hello" || op == "alive") now_s_ = message.value("now_s", 0.0);
      if (op == "hello") {
        // Nothing may be sent before the welcome, so this is the connection only from now on.
        if (connection_) connection_->close();
        connection_ = self.lock();
        connection_->send(
            1,
            AgentJson{
                {"op", "welcome"}, {"term", term_.load()}, {"lease_s", lease_s_}, {"now_s", now_s_}}
                .dump());
      }
      const std::lock_guard lock(mutex_);
      messages_.push_back(std::move(message));
      changed_.notify_all();
    };
    events.on_close = [this, self](runtime::End, const std::string&) {
      if (connection_ == self.lock()) connection_.reset();
    };
    connection->set_events(std::move(events));
  }
  void renew() {
    if (connection_ && renewing_) {
      connection_->send(
          1, AgentJson{{"op", "lease"}, {"term", term_.load()}, {"now_s", now_s_}}.dump());
    }
    reactor_->after(lease_s_ / 8, [this] { renew(); });
  }

  const double lease_s_;
  const runtime::Secret secret_;
  std::atomic<std::uint64_t> term_ = 1;
  std::atomic<bool> renewing_ = true;
  double now_s_ = 0;  // on the reactor's thread, as the next
  std::shared_ptr<runtime::Connection> connection_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::vector<AgentJson> messages_;  // under mutex_
  std::unique_ptr<runtime::Reactor> reactor_;
  std::unique_ptr<runtime::Listener> listener_;
};

// A node: its folder, its jobs' output, and the agent process of the moment.
class AgentNode {
 public:
  explicit AgentNode(FakeController& controller, std::vector<std::string> more = {})
      : controller_(controller), more_(std::move(more)) {
    secret_ = controller.write_secret(scratch);
    EXPECT_TRUE(runtime::adopt_orphans().ok());
    start();
  }
  // Ends what is left of the node, by the marks of its own runs.
  ~AgentNode() {
    for (const std::string& uuid : uuids_) {
      controller_.send({{"op", "stop"},
                        {"uuid", uuid},
                        {"epoch", 1},
                        {"number", 1 << 20},
                        {"signal", SIGKILL},
                        {"grace_s", 0}});
    }
    for (const std::string& uuid : uuids_) {
      controller_.wait({{"op", "outcome"}, {"uuid", uuid}, {"number", 1 << 20}}, 1, 5);
    }
    kill_agent(SIGTERM);
  }
  AgentNode(const AgentNode&) = delete;
  AgentNode& operator=(const AgentNode&) = delete;

  void start() {
    std::vector<std::string> words = {
        WEFT_BINARY,     "agent", "--controller", controller_.address(),
        "--secret-file", secret_, "--dir",        scratch.path("agent"),
        "--node",        name};
    words.insert(words.end(), more_.begin(), more_.end());
    auto started = runtime::ChildProcess::start(
        {WEFT_BINARY, words, runtime::full_environment({}, {{"HIDDEN", "x"}}),
         scratch.path("agent.out"), scratch.path("agent.err"), std::nullopt});
    ASSERT_TRUE(started.ok());
    process_.emplace(std::move(*started));
  }
  void kill_agent(int number = SIGKILL) {
    if (!process_ || process_->reap()) return;
    ::kill(process_->pid(), number);
    wait_until([&] { return process_->reap().has_value(); });
  }
  pid_t pid() const { return process_->pid(); }
  std::string err() const { return slurp(scratch.path("agent.err")); }
  std::string log(int rank = 0) const {
    return slurp(scratch.path("logs/rank-" + std::to_string(rank) + ".log"));
  }
  pid_t keeper(const std::string& uuid, int rank = 0, int epoch = 1) const {
    const std::string text = slurp(scratch.path(
        "agent/claims/" + uuid + "." + std::to_string(epoch) + "." + std::to_string(rank)));
    const AgentJson json = AgentJson::parse(text, nullptr, false);
    return json.is_object() ? json.value("keeper", 0) : 0;
  }

  // A start of `ranks` ranks of `sh -c script`; T is the scratch folder.
  AgentJson order(const std::string& uuid, const std::string& script, int ranks = 1) {
    uuids_.insert(uuid);
    AgentJson list = AgentJson::array();
    for (int i = 0; i < ranks; ++i) list.push_back({{"rank", i}, {"local", i}});
    return {
        {"op", "start"},
        {"uuid", uuid},
        {"epoch", 1},
        {"number", 1},
        {"job",
         {{"name", "test"}, {"run", script}, {"log_dir", scratch.path("logs")}, {"grace_s", 5}}},
        {"ranks", list},
        {"environment", {{"T", scratch.path("")}, {"WORLD_SIZE", std::to_string(ranks)}}}};
  }

  const Scratch scratch;
  // Its own, because control groups are named after it and tests run side by side.
  const std::string name = std::filesystem::path(scratch.path("x")).parent_path().filename();

 private:
  FakeController& controller_;
  std::vector<std::string> more_;
  std::set<std::string> uuids_;
  std::string secret_;
  std::optional<runtime::ChildProcess> process_;
};

}  // namespace weft
