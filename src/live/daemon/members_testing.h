// A job that is resized in place.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "live/daemon/replicas_testing.h"

namespace weft::live {

inline constexpr const char* kMeeting = "u-member-meeting";

class MembersTest : public PartsTest {
 protected:
  JobView job() {
    JobSpec spec;
    spec.name = "digits";
    spec.run = "train";
    spec.setup = "make";
    spec.num_nodes = spec.min_workers = min_workers_;
    spec.max_workers = 4;
    spec.resize = Resizing::kInPlace;
    spec.retries = {2, 10, 40};
    spec.checkpoint.signal = "SIGUSR1";
    return view_of(spec);
  }
  static Allocation on(const std::vector<DeviceId>& devices) {
    Allocation allocation;
    for (const DeviceId device : devices) allocation.devices.push_back({device});
    return allocation;
  }
  KeptCommand command(CommandKind kind, std::uint32_t number,
                      const std::vector<DeviceId>& devices = {}) {
    return {kind, 7, 3, number, kNever, on(devices)};
  }
  // "start u-member-0@0 …" for what agents were told since.
  std::vector<std::string> said() {
    std::vector<std::string> words;
    for (const auto& [node, message] : std::exchange(said_, {})) {
      const std::string op = message.at("op"), uuid = message.at("uuid");
      if (op == "start") starts_[uuid] = message;
      words.push_back(op + " " + uuid + "@" + std::to_string(node));
    }
    return words;
  }
  std::uint32_t epoch(const std::string& uuid) { return starts_[uuid].at("epoch"); }
  void answer(const std::string& uuid, std::uint32_t number = 1,
              const std::string& result = "done") {
    replicas_->outcome(node_of(uuid), uuid, epoch(uuid), number, result, "");
  }
  void end(const std::string& uuid, int code) {
    const int rank = starts_[uuid].at("ranks")[0].at("rank");
    replicas_->ended(node_of(uuid), uuid, epoch(uuid), rank, code, 0, "");
  }
  static NodeId node_of(const std::string& uuid) {
    return uuid == "u-member-2" || uuid == "u-member-3" ? 1 : 0;
  }
  // What the controller was told since, in words.
  std::vector<std::string> told() {
    std::vector<std::string> list;
    for (const EventRecord& record : std::exchange(told_, {})) {
      const Event& e = record.event;
      EXPECT_EQ(e.job, 7u);
      EXPECT_EQ(e.epoch, 3u);
      const std::string own = is_own_failure(e) ? ", its own" : "";
      list.push_back(e.kind == EventKind::kOutcome
                         ? (e.outcome == Outcome::kDone ? "done " : "refused ") +
                               std::to_string(e.number)
                     : e.kind == EventKind::kFinished ? "finished"
                     : e.kind == EventKind::kHoldBack ? "held back"
                     : e.kind == EventKind::kCrashed  ? "crashed" + own
                     : e.kind == EventKind::kLost     ? "lost on " + std::to_string(e.node)
                                                      : "?");
    }
    return list;
  }
  void start(const std::vector<DeviceId>& devices) {
    replicas_->carry_out(command(CommandKind::kStart, 1, devices), job());
    said();
    answer(kMeeting);
    replicas_->ready(kMeeting, epoch(kMeeting));
    said();
    for (const DeviceId device : devices) answer("u-member-" + std::to_string(device));
    EXPECT_THAT(told(), testing::ElementsAre("done 1"));
    durable();
  }
  // What a node's agent has, by the starts it was told of.
  Json runs(const std::vector<std::string>& uuids) {
    Json list = Json::array();
    for (const std::string& uuid : uuids) {
      list.push_back(
          {{"uuid", uuid},
           {"epoch", epoch(uuid)},
           {"ranks", {{{"rank", starts_[uuid].at("ranks")[0].at("rank")}, {"pid", 1}}}}});
    }
    return list;
  }
  void adopt(JobStanding standing, const std::vector<DeviceId>& held,
             const std::vector<DeviceId>& before = {}) {
    begin(2);
    JobView view = job();
    view.standing = standing;
    view.held = on(held);
    view.resized_from = on(before);
    replicas_->adopt(view);
  }

  std::uint32_t min_workers_ = 1;
  std::map<std::string, Json> starts_;  // the last of each run
};

}  // namespace weft::live
