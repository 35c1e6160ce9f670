// A daemon as the controller of a simulated world: HTTP, journal and controller are the real ones,
// only jobs and time are not.
#pragma once

#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "live/daemon/daemon.h"
#include "live/http/client.h"
#include "policy/composition.h"
#include "sim/control_side.h"

namespace weft {

// A folder for a journal that need not outlive the machine: in memory where that is possible.
class ScratchStore {
 public:
  ScratchStore() {
    const std::string root = access("/dev/shm", W_OK) == 0
                                 ? "/dev/shm"
                                 : std::filesystem::temp_directory_path().string();
    path_ = root + "/weft-store-XXXXXX";
    CHECK(mkdtemp(path_.data()) != nullptr);
  }
  ~ScratchStore() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchStore(const ScratchStore&) = delete;
  ScratchStore& operator=(const ScratchStore&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

struct DaemonSetup {
  Cluster cluster;
  std::string policy;
  std::string store;
  // Job files of the trace's jobs, as JSON by name, which are submitted through HTTP. A job without
  // one is put into the journal as the trace has it.
  std::map<std::string, nlohmann::json> specs;
};

class DaemonSide : public ControlSide, private live::Hands {
 public:
  DaemonSide(const DaemonSetup& setup, Executor& executor, Journal& journal)
      : setup_(setup), executor_(executor), client_(live::socket_of(setup.store)) {
    live::DaemonOptions options;
    options.store = setup.store;
    options.cluster = setup.cluster;
    options.cluster_text = setup.cluster.text;
    options.policy = assemble(find_policy(setup.policy).value()).value();
    options.policy_text = setup.policy;
    options.program = "test";
    options.other_world = live::OtherWorld{this, [this] { return now_.load(); }};
    auto daemon = live::Daemon::start(std::move(options));
    CHECK_MSG(daemon.ok(), daemon.error().text().c_str());
    daemon_ = std::move(daemon).value();
    daemon_->brain().turn();  // the tick with which every controller begins
    daemon_->brain().set_listener(&journal);
  }

  JobId handle(const Event& event) override {
    now_ = event.at;
    if (event.kind == EventKind::kTick) return kNoJob;  // a daemon wakes itself
    if (event.kind == EventKind::kSubmit) return submit(event);
    live::EventRecord record;
    record.event = event;
    daemon_->brain().post(std::move(record));
    return event.job;
  }

  void decide(Seconds now) override {
    now_ = now;
    live::Brain& brain = daemon_->brain();
    const std::int64_t before = brain.controller().decisions();
    brain.turn();
    if (brain.controller().decisions() > before && on_decision) on_decision(brain.health().last_s);
    CHECK(daemon_->journal().flush(60));
    std::vector<KeptCommand> commands;
    {
      const std::lock_guard lock(mutex_);
      commands.swap(commands_);
    }
    for (const KeptCommand& c : commands) {
      const bool stops = c.kind == CommandKind::kStop;
      executor_.execute(
          {c.kind, c.job, c.epoch, c.number, c.deadline, stops ? nullptr : &c.allocation});
    }
  }

  Seconds next_wake() override { return daemon_->brain().next_wake(); }
  void restart() override { CHECK_MSG(false, "a daemon that begins again is another test's"); }
  void ask_again() override { CHECK_MSG(false, "a daemon does that by itself"); }
  const Controller& controller() const override { return daemon_->brain().controller(); }
  live::Daemon& daemon() { return *daemon_; }

  // Told how long a round with a decision took: folding, deciding, writing it down.
  std::function<void(Seconds)> on_decision;

 private:
  void carry_out(const KeptCommand& command, const live::JobView&) override {
    const std::lock_guard lock(mutex_);
    commands_.push_back(command);
  }

  JobId submit(const Event& event) {
    const JobId id = next_job_++;
    const auto spec = setup_.specs.find(event.submission->name);
    if (spec == setup_.specs.end()) {
      live::EventRecord record;
      record.event = event;
      record.job = live::JobIdentity{std::to_string(id), "nobody", 0, 0, "{}"};
      daemon_->brain().post(std::move(record));
      return id;
    }
    const nlohmann::json body = {{"spec", spec->second}};
    const auto reply = client_.ask("POST", "/v1/jobs", body.dump());
    CHECK(reply.ok());
    CHECK_MSG(reply->status == 201, reply->body.c_str());
    return id;
  }

  const DaemonSetup& setup_;
  Executor& executor_;
  std::atomic<Seconds> now_ = 0;
  JobId next_job_ = 0;
  std::mutex mutex_;
  std::vector<KeptCommand> commands_;
  live::HttpClient client_;
  std::unique_ptr<live::Daemon> daemon_;
};

}  // namespace weft
