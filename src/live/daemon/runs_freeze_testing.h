// A run that may be frozen, and what is said of it to agents and to the controller.
#pragma once

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "live/daemon/run_numbers.h"
#include "live/daemon/runs.h"
#include "live/job/job_json.h"

namespace weft::live {

// Two nodes, n0 and n1 below, of two devices each.
class FreezeWorld : public testing::Test {
 protected:
  using Json = nlohmann::json;

  FreezeWorld() : cluster_(*parse_cluster_shorthand("2x2")) { restart_controller(); }

  // The next one knows only what `view_` says, as the board would.
  void restart_controller() {
    runs_ = std::make_unique<Runs>(
        cluster_, ++term_, "/logs",
        RunsLinks{[this](NodeId node, const Json& message) { note(node, message); }, nullptr,
                  [this](EventRecord record, std::function<void()> durable) {
                    told_.push_back(record);
                    durable();
                  },
                  [this] { return now_; }, [this](NodeId node) { return node != out_of_service_; },
                  [this](JobId, const std::string& why) { thawed_.push_back(why); }});
  }
  void note(NodeId node, const Json& message) {
    std::string line = fmt::format("n{} {} {}", node, message.at("op").get<std::string>(),
                                   message.at("epoch").get<int>());
    if (message.contains("thaw")) line += fmt::format(" thaw {}", message["thaw"].get<int>());
    if (message["op"] == "stop") line += " " + message["signal"].get<std::string>();
    said_.push_back(line);
  }
  std::vector<std::string> said() { return std::exchange(said_, {}); }

  JobView job(JobStanding standing, std::uint32_t epoch) {
    JobSpec spec;
    spec.name = "j";
    spec.run = "true";
    spec.checkpoint.signal = "SIGUSR1";
    spec.checkpoint.grace = 7;
    spec.checkpoint.preempt = preempt_;
    JobView view;
    view.id = 5;
    view.identity = {"u", "ann", 0, 0, to_json(spec).dump()};
    view.standing = standing;
    view.epoch = epoch;
    return view;
  }
  KeptCommand start_command(std::uint32_t epoch, const std::vector<DeviceId>& devices) {
    KeptCommand command{CommandKind::kStart, 5, epoch, 2 * epoch - 1, kNever, {}};
    for (const DeviceId device : devices) command.allocation.devices.push_back({device});
    return command;
  }
  void start(std::uint32_t epoch, const std::vector<DeviceId>& devices) {
    runs_->carry_out(start_command(epoch, devices), job(JobStanding::kStarting, epoch));
  }
  void stop(std::uint32_t epoch, JobStanding standing = JobStanding::kStopping,
            const std::string& why = "") {
    JobView view = job(standing, epoch);
    view.why = why;
    runs_->carry_out({CommandKind::kStop, 5, epoch, 2 * epoch, kNever, {}}, view);
  }
  void done(NodeId node, std::uint32_t epoch, std::uint32_t number) {
    runs_->outcome(node, "u", epoch, number, "done", "");
  }
  void running(const std::vector<DeviceId>& devices) {
    start(1, devices);
    for (const DeviceId device : devices) done(cluster_.node_of(device), 1, 1);
    said();
    told_.clear();
  }
  // Frozen, and the controller has heard of it.
  void frozen(const std::vector<DeviceId>& devices) {
    running(devices);
    stop(1);
    for (const DeviceId device : devices) done(cluster_.node_of(device), 1, kFreezeNumber);
    ASSERT_EQ(told_.size(), 1u);
    ASSERT_THAT(told_[0].why, testing::HasSubstr("frozen on "));
    ASSERT_NE(runs_->frozen().find("u"), nullptr);
    said();
    told_.clear();
  }
  // What the board says of it after that.
  JobView frozen_view(JobStanding standing, const std::vector<DeviceId>& devices) {
    JobView view = job(standing, 1);
    view.frozen_epoch = 1;
    view.frozen = start_command(1, devices).allocation;
    return view;
  }
  static Json listed(std::vector<std::uint32_t> epochs) {
    Json runs = Json::array();
    for (const std::uint32_t epoch : epochs) runs.push_back({{"uuid", "u"}, {"epoch", epoch}});
    return runs;
  }
  // One event, of this kind and command.
  void expect_told(EventKind kind, std::uint32_t epoch, std::uint32_t number,
                   Outcome outcome = Outcome::kDone) {
    ASSERT_EQ(told_.size(), 1u);
    EXPECT_EQ(told_[0].event.kind, kind);
    EXPECT_EQ(told_[0].event.epoch, epoch);
    EXPECT_EQ(told_[0].event.number, number);
    EXPECT_EQ(told_[0].event.outcome, outcome);
    told_.clear();
  }

  Cluster cluster_;
  Preemption preempt_ = Preemption::kFreeze;
  Seconds now_ = 1000;
  NodeId out_of_service_ = kNoNode;
  std::uint64_t term_ = 0;
  std::vector<std::string> said_, thawed_;
  std::vector<EventRecord> told_;
  std::unique_ptr<Runs> runs_;
};

}  // namespace weft::live
