#include "live/daemon/replicas.h"

#include "live/daemon/replicas_testing.h"

namespace weft::live {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class ReplicasTest : public PartsTest {
 protected:
  JobView service(ControllerLoss loss = ControllerLoss::kContinue) {
    JobSpec spec;
    spec.name = "web";
    spec.kind = WorkloadKind::kService;
    spec.run = "serve";
    spec.service = {1, 4, 10, 8080, 0};
    spec.retries = {3, 10, 40};
    spec.on_controller_loss = loss;
    return view_of(spec);
  }
  KeptCommand command(CommandKind kind, std::uint32_t number, std::vector<DeviceId> devices = {}) {
    KeptCommand command{kind, 7, 3, number, kNever, {}};
    for (const DeviceId device : devices) command.allocation.devices.push_back({device});
    command.allocation.replicas = static_cast<std::uint32_t>(devices.size());
    return command;
  }
  // "start u-replica-0@0 …" for what agents were told since.
  std::vector<std::string> said() {
    durable();
    std::vector<std::string> words;
    for (const auto& [node, message] : std::exchange(said_, {})) {
      const std::string op = message.at("op"), uuid = message.at("uuid");
      if (op == "start") epochs_[uuid] = message.at("epoch");
      if (op != "forget") words.push_back(op + " " + uuid + "@" + std::to_string(node));
    }
    return words;
  }
  void answer(NodeId node, const std::string& uuid, std::uint32_t number = 1,
              const std::string& result = "done") {
    replicas_->outcome(node, uuid, epochs_[uuid], number, result, "");
  }
  void end(NodeId node, const std::string& uuid, int code) {
    replicas_->ended(node, uuid, epochs_[uuid], 0, code, 0, "");
  }
  // Kinds and numbers of events the controller was told since.
  std::vector<std::pair<EventKind, std::uint32_t>> told() {
    durable();
    std::vector<std::pair<EventKind, std::uint32_t>> list;
    for (const EventRecord& record : std::exchange(told_, {})) {
      EXPECT_EQ(record.event.job, 7u);
      EXPECT_EQ(record.event.epoch, 3u);
      list.emplace_back(record.event.kind, record.event.number);
    }
    return list;
  }
  void start_two() {
    replicas_->carry_out(command(CommandKind::kStart, 1, {0, 2}), service());
    said();
    answer(0, "u-replica-0");
    answer(1, "u-replica-2");
    told();
  }

  std::map<std::string, std::uint32_t> epochs_;
};

const auto kDone1 = std::pair(EventKind::kOutcome, 1u);
const auto kDone2 = std::pair(EventKind::kOutcome, 2u);

TEST_F(ReplicasTest, EveryReplicaIsARunOfItsOwn) {
  EXPECT_TRUE(is_service(service().identity));
  replicas_->carry_out(command(CommandKind::kStart, 1, {0, 2}), service());
  const Json first = said_.at(0).second;
  EXPECT_EQ(first.at("job").at("envs").at("WEFT_REPLICA"), "0");
  EXPECT_EQ(first.at("job").at("envs").at("WEFT_PORT"), "8080");
  EXPECT_EQ(first.at("environment").at("WORLD_SIZE"), "1");
  EXPECT_THAT(said(), ElementsAre("start u-replica-0@0", "start u-replica-2@1"));
  answer(0, "u-replica-0");
  EXPECT_THAT(told(), IsEmpty());
  answer(1, "u-replica-2");
  EXPECT_THAT(told(), ElementsAre(kDone1));
}

TEST_F(ReplicasTest, OneThatEndsIsStartedAgainForEverAndTheOthersGoOn) {
  start_two();
  const Seconds pauses[] = {0, 10, 20, 40, 40};
  std::uint32_t epoch = epochs_["u-replica-0"];
  for (const Seconds pause : pauses) {
    end(0, "u-replica-0", 3);
    EXPECT_THAT(remarks_.back(), HasSubstr("replica 0 ended: rank 0 exited with 3"));
    if (pause > 0) {
      now_ += pause - 0.1;
      replicas_->tick();
      EXPECT_THAT(said(), IsEmpty()) << pause;
      now_ += 0.2;
    }
    replicas_->tick();
    EXPECT_THAT(said(), ElementsAre("start u-replica-0@0"));
    EXPECT_GT(epochs_["u-replica-0"], epoch);
    epoch = epochs_["u-replica-0"];
    answer(0, "u-replica-0");
  }
  now_ += 41;
  end(0, "u-replica-0", 0);
  EXPECT_THAT(remarks_.back(), HasSubstr("again at once")) << "it had run for long";
  EXPECT_THAT(told(), IsEmpty()) << "no business of the controller";
}

TEST_F(ReplicasTest, AResizeTouchesOnlyWhatChanges) {
  start_two();
  replicas_->carry_out(command(CommandKind::kResize, 2, {0, 1}), service());
  EXPECT_THAT(said(), ElementsAre("start u-replica-1@0", "stop u-replica-2@1"));
  answer(0, "u-replica-1");
  EXPECT_THAT(told(), IsEmpty());
  answer(1, "u-replica-2", 2);
  EXPECT_THAT(told(), ElementsAre(kDone2));
}

TEST_F(ReplicasTest, AStopIsAnsweredWhenAllAreGone) {
  start_two();
  end(0, "u-replica-0", 1);  // waits to be started again
  replicas_->carry_out(command(CommandKind::kStop, 2), service());
  EXPECT_THAT(said(), ElementsAre("stop u-replica-2@1"));
  EXPECT_THAT(told(), IsEmpty());
  answer(1, "u-replica-2", 2);
  EXPECT_THAT(told(), ElementsAre(kDone2));
  now_ += 1000;
  replicas_->tick();
  EXPECT_THAT(said(), IsEmpty());
  replicas_->carry_out(command(CommandKind::kStop, 2), service());
  EXPECT_THAT(told(), ElementsAre(kDone2)) << "asked again";
}

TEST_F(ReplicasTest, ALostNodeTakesItsReplicasAlone) {
  start_two();
  replicas_->gone(1, false, "silent");
  EXPECT_THAT(told(), IsEmpty()) << "they may still run: on_controller_loss is continue";
  replicas_->gone(1, true, "fenced");
  EXPECT_THAT(told(), ElementsAre(std::pair(EventKind::kLost, 0u)));
  now_ += 1000;
  replicas_->tick();
  EXPECT_THAT(said(), IsEmpty());
  replicas_->carry_out(command(CommandKind::kResize, 2, {0, 1}), service());
  EXPECT_THAT(said(), ElementsAre("start u-replica-1@0"));
}

TEST_F(ReplicasTest, TheNextDaemonTakesOverWhatRunsAndStartsTheRest) {
  start_two();
  const std::uint32_t kept = epochs_["u-replica-0"];
  begin(2);
  JobView view = service();
  view.standing = JobStanding::kRunning;
  view.held = command(CommandKind::kStart, 0, {0, 2}).allocation;
  replicas_->adopt(view);
  const Json run = {
      {"uuid", "u-replica-0"}, {"epoch", kept}, {"number", 1}, {"ranks", Json::array()}};
  const Json stray = {{"uuid", "u-replica-1"}, {"epoch", kept}, {"ranks", Json::array()}};
  replicas_->resume(0, Json::array({run, stray}));
  EXPECT_THAT(said(), ElementsAre("stop u-replica-1@0"));
  replicas_->resume(1, Json::array());
  EXPECT_THAT(said(), ElementsAre("start u-replica-2@1"));
  EXPECT_GT(epochs_["u-replica-2"], kept) << "epochs of a term are above those before";
  epochs_["u-replica-0"] = kept;
  end(0, "u-replica-0", 1);
  EXPECT_THAT(remarks_.back(), HasSubstr("replica 0 ended"));
}

TEST_F(ReplicasTest, AResizeWaitsForNodesThatAreNotBack) {
  start_two();
  const std::uint32_t kept = epochs_["u-replica-0"], leaving = epochs_["u-replica-2"];
  begin(2);
  JobView view = service();
  view.standing = JobStanding::kRunning;
  view.held = command(CommandKind::kResize, 0, {0}).allocation;
  view.resized_from = command(CommandKind::kStart, 0, {0, 2}).allocation;
  replicas_->adopt(view);
  replicas_->carry_out(command(CommandKind::kResize, 2, {0}), view);
  replicas_->resume(
      0, Json::array({{{"uuid", "u-replica-0"}, {"epoch", kept}, {"ranks", Json::array()}}}));
  EXPECT_THAT(told(), IsEmpty()) << "the other may still run";
  replicas_->resume(
      1, Json::array({{{"uuid", "u-replica-2"}, {"epoch", leaving}, {"ranks", Json::array()}}}));
  EXPECT_FALSE(said_.empty());
  EXPECT_THAT(said(), Each("stop u-replica-2@1"));
  EXPECT_THAT(told(), IsEmpty());
  epochs_["u-replica-2"] = leaving;
  answer(1, "u-replica-2", 2);
  EXPECT_THAT(told(), ElementsAre(kDone2));
}

TEST_F(ReplicasTest, TheLoadIsTheSumAndToldWhenItChanges) {
  start_two();
  now_ += 2;
  replicas_->report("u-replica-0", epochs_["u-replica-0"], 12, 0.2);
  replicas_->report("u-replica-2", epochs_["u-replica-2"], 8, 0.1);
  replicas_->tick();
  ASSERT_EQ(told_.size(), 1u);
  EXPECT_EQ(told_[0].event.kind, EventKind::kLoad);
  EXPECT_EQ(told_[0].event.value, 20);
  const std::uint32_t number = told_[0].event.number;
  told();
  now_ += 2;
  replicas_->report("u-replica-2", epochs_["u-replica-2"], 8.5, 0.1);
  replicas_->tick();
  EXPECT_THAT(told(), IsEmpty()) << "a small change";
  EXPECT_EQ(qps_, 20.5);
  now_ += 2;
  replicas_->report("u-replica-2", epochs_["u-replica-2"], 30, 0.1);
  replicas_->tick();
  ASSERT_EQ(told_.size(), 1u);
  EXPECT_GT(told_[0].event.number, number);
}

}  // namespace
}  // namespace weft::live
