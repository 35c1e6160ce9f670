// Jobs that are resized in place, as agents and the controller see them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "live/daemon/members_testing.h"

namespace weft::live {
namespace {

using Json = nlohmann::json;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::UnorderedElementsAre;

TEST_F(MembersTest, RanksStartWhenTheyCanMeet) {
  EXPECT_TRUE(has_parts(job().identity));
  EXPECT_FALSE(is_service(job().identity));
  replicas_->carry_out(command(CommandKind::kStart, 1, {0, 2}), job());
  EXPECT_THAT(said(), ElementsAre("start u-member-meeting@0"));
  EXPECT_THAT(starts_[kMeeting].at("meet"), HasSubstr("127.0.0.1:"));
  EXPECT_EQ(starts_[kMeeting].at("group"), "u/3");
  EXPECT_THAT(starts_[kMeeting].at("ranks")[0].at("devices"), IsEmpty());
  answer(kMeeting);
  EXPECT_THAT(said(), IsEmpty());
  replicas_->ready(kMeeting, epoch(kMeeting));
  EXPECT_THAT(said(), ElementsAre("start u-member-0@0", "start u-member-2@1"));
  const Json& second = starts_["u-member-2"];
  EXPECT_EQ(second.at("group"), "u/3");
  EXPECT_EQ(second.at("ranks")[0].at("rank"), 1);
  EXPECT_EQ(second.at("job").at("log_dir"), "/logs/u");
  const Json& told_it = second.at("environment");
  EXPECT_EQ(told_it.at("WORLD_SIZE"), "2");
  EXPECT_EQ(told_it.at("WEFT_MEMBER"), "1");
  EXPECT_EQ(told_it.at("WEFT_JOB_EPOCH"), "3");
  EXPECT_EQ(told_it.at("WEFT_ELASTIC"), "1:4");
  EXPECT_EQ(told_it.at("WEFT_STORE"), starts_[kMeeting].at("meet"));
  EXPECT_FALSE(told_it.contains("WEFT_JOIN"));
  answer("u-member-0");
  EXPECT_THAT(told(), IsEmpty());
  answer("u-member-2");
  EXPECT_THAT(told(), ElementsAre("done 1"));
}

TEST_F(MembersTest, AStartWhoseRanksCannotMeetIsRefused) {
  replicas_->carry_out(command(CommandKind::kStart, 1, {0, 2}), job());
  said();
  answer(kMeeting);
  end(kMeeting, 2);
  EXPECT_THAT(told(), ElementsAre("refused 1"));
  EXPECT_THAT(said(), Not(Contains("start u-member-0@0")));
}

TEST_F(MembersTest, AMeetingThatNeverOpensIsGivenUp) {
  replicas_->carry_out(command(CommandKind::kStart, 1, {0}), job());
  said();
  answer(kMeeting);
  now_ += 11;
  replicas_->tick();
  EXPECT_THAT(said(), ElementsAre("stop u-member-meeting@0"));
  answer(kMeeting, 2);
  EXPECT_THAT(told(), ElementsAre("refused 1"));
}

TEST_F(MembersTest, ThoseThatComeJoinAndThoseThatStayHearNothing) {
  start({0});
  replicas_->carry_out(command(CommandKind::kResize, 2, {0, 1, 3}), job());
  EXPECT_THAT(said(), ElementsAre("start u-member-1@0", "start u-member-3@1"));
  const Json& told_it = starts_["u-member-3"].at("environment");
  EXPECT_EQ(told_it.at("WEFT_JOIN"), "1");
  EXPECT_FALSE(told_it.contains("WEFT_MEMBER")) << "the store gives it";
  EXPECT_EQ(told_it.at("WORLD_SIZE"), "3");
  EXPECT_EQ(starts_["u-member-1"].at("ranks")[0].at("rank"), 1);
  EXPECT_EQ(starts_["u-member-3"].at("ranks")[0].at("rank"), 2);
  answer("u-member-1");
  EXPECT_THAT(told(), IsEmpty());
  answer("u-member-3");
  EXPECT_THAT(told(), ElementsAre("done 2"));
}

TEST_F(MembersTest, ThoseThatGoAreAskedToAndTheirDevicesAreFreeThen) {
  start({0, 1, 2});
  replicas_->carry_out(command(CommandKind::kResize, 2, {0}), job());
  EXPECT_EQ(said_.at(0).second.at("signal"), "SIGUSR1");
  EXPECT_THAT(said(), ElementsAre("stop u-member-1@0", "stop u-member-2@1"));
  answer("u-member-2", 2);
  EXPECT_THAT(told(), IsEmpty());
  end("u-member-1", 0);
  EXPECT_THAT(told(), ElementsAre("done 2")) << "an end that was asked for is not the job's";
  replicas_->carry_out(command(CommandKind::kResize, 3, {0, 1}), job());
  EXPECT_THAT(said(), Contains("start u-member-1@0"));
  EXPECT_EQ(starts_["u-member-1"].at("ranks")[0].at("rank"), 1) << "the least that is free";
}

TEST_F(MembersTest, OneThatDiesIsReplacedAloneAndSoonGivesUp) {
  start({0, 2});
  const Seconds pauses[] = {0, 10};
  for (const Seconds pause : pauses) {
    end("u-member-2", 3);
    EXPECT_THAT(remarks_.back(), HasSubstr("rank 1 exited with 3; another takes its place"));
    EXPECT_THAT(said(), ElementsAre("forget u-member-2@1"));
    if (pause > 0) {
      now_ += pause - 0.1;
      replicas_->tick();
      EXPECT_THAT(said(), IsEmpty());
      now_ += 0.2;
    }
    replicas_->tick();
    EXPECT_THAT(said(), ElementsAre("start u-member-2@1"));
    EXPECT_EQ(starts_["u-member-2"].at("environment").at("WEFT_JOIN"), "1");
    EXPECT_EQ(starts_["u-member-2"].at("ranks")[0].at("rank"), 1);
    answer("u-member-2");
    EXPECT_THAT(told(), IsEmpty());
  }
  end("u-member-2", 3);
  EXPECT_THAT(said(), ElementsAre("stop u-member-0@0")) << "retries are used up";
  answer("u-member-0", 2);
  EXPECT_THAT(said(), Contains("stop u-member-meeting@0")) << "and it goes last";
  EXPECT_THAT(told(), IsEmpty());
  answer(kMeeting, 2);
  EXPECT_THAT(told(), ElementsAre("held back", "crashed, its own"));
}

TEST_F(MembersTest, TheLastOneThatDiesTakesTheJobAlong) {
  start({0});
  end("u-member-0", 1);
  EXPECT_THAT(said(), ElementsAre("stop u-member-meeting@0"));
  answer(kMeeting, 2);
  EXPECT_THAT(told(), ElementsAre("held back", "crashed, its own"));
  EXPECT_THAT(said(), Not(Contains("forget u-member-0@0"))) << "the journal has not got it yet";
  durable();
  EXPECT_THAT(said(), ElementsAre("forget u-member-0@0"));
}

TEST_F(MembersTest, AJobIsDoneWhenItsRanksHaveEndedWell) {
  start({0, 2});
  end("u-member-0", 0);
  EXPECT_THAT(said(), IsEmpty());
  end("u-member-2", 1);
  EXPECT_THAT(said(), ElementsAre("stop u-member-meeting@0")) << "nobody is replaced any more";
  answer(kMeeting, 2);
  EXPECT_THAT(told(), ElementsAre("finished")) << "as many as it needs have";
  said();
  durable();
  EXPECT_THAT(said(), UnorderedElementsAre("forget u-member-0@0", "forget u-member-2@1"));
}

TEST_F(MembersTest, AJobMayEndBeforeAllOfItHasBegun) {
  replicas_->carry_out(command(CommandKind::kStart, 1, {0, 2}), job());
  said();
  answer(kMeeting);
  replicas_->ready(kMeeting, epoch(kMeeting));
  said();
  end("u-member-0", 0);
  end("u-member-2", 0);
  answer(kMeeting, 2);
  EXPECT_THAT(told(), ElementsAre("done 1", "finished"));
}

TEST_F(MembersTest, ARankThatFailsBeforeAllHaveBegunTakesTheOthersAlong) {
  replicas_->carry_out(command(CommandKind::kStart, 1, {0, 2}), job());
  said();
  answer(kMeeting);
  replicas_->ready(kMeeting, epoch(kMeeting));
  said();
  end("u-member-0", 9);
  EXPECT_THAT(said(), ElementsAre("stop u-member-2@1"));
  answer("u-member-2", 2);
  answer(kMeeting, 2);
  EXPECT_THAT(told(), ElementsAre("done 1", "held back", "crashed, its own"));
}

TEST_F(MembersTest, AStopEndsAllOfThemInTheMiddleOfAChangeToo) {
  start({0, 2});
  replicas_->carry_out(command(CommandKind::kResize, 2, {0, 1, 2}), job());
  said();
  replicas_->carry_out(command(CommandKind::kStop, 3), job());
  EXPECT_THAT(said(), ElementsAre("stop u-member-0@0", "stop u-member-1@0", "stop u-member-2@1"));
  for (const char* uuid : {"u-member-0", "u-member-1", "u-member-2"}) answer(uuid, 2);
  EXPECT_THAT(told(), IsEmpty());
  answer(kMeeting, 2);
  EXPECT_THAT(told(), ElementsAre("done 3"));
  replicas_->carry_out(command(CommandKind::kStop, 3), job());
  EXPECT_THAT(told(), ElementsAre("done 3")) << "asked again";
}

TEST_F(MembersTest, ALostNodeTakesItsRanksAlone) {
  start({0, 2});
  replicas_->gone(1, false, "silent");
  EXPECT_THAT(said(), IsEmpty()) << "it may still run: on_controller_loss is continue";
  replicas_->gone(1, true, "fenced");
  EXPECT_THAT(said(), Not(Contains("stop u-member-0@0")));
  EXPECT_THAT(told(), ElementsAre("lost on 1"));
  now_ += 1000;
  replicas_->tick();
  EXPECT_THAT(said(), IsEmpty()) << "nobody takes their place there";
  replicas_->carry_out(command(CommandKind::kResize, 2, {0, 1}), job());
  EXPECT_THAT(said(), ElementsAre("start u-member-1@0"));
  EXPECT_EQ(starts_["u-member-1"].at("ranks")[0].at("rank"), 1);
  answer("u-member-1");
  EXPECT_THAT(told(), ElementsAre("done 2"));
}

TEST_F(MembersTest, ALostNodeThatIsBeingLeftEndsTheChange) {
  start({0, 2});
  replicas_->carry_out(command(CommandKind::kResize, 2, {0}), job());
  EXPECT_THAT(said(), ElementsAre("stop u-member-2@1"));
  replicas_->gone(1, true, "fenced");
  EXPECT_THAT(told(), ElementsAre("done 2"));
  EXPECT_THAT(said(), Not(Contains("stop u-member-0@0")));
}

TEST_F(MembersTest, ALostNodeIsARestartIfTheOthersCannotGoOn) {
  const struct {
    const char* what;
    std::vector<DeviceId> ranks;
    std::int64_t least;
    NodeId node;
    bool changes;
  } kRows[] = {
      {"they meet there", {0, 2}, 1, 0, false},
      {"too few are left", {0, 2}, 2, 1, false},
      {"it is being resized", {0, 2}, 1, 1, true},
  };
  for (const auto& row : kRows) {
    min_workers_ = static_cast<std::uint32_t>(row.least);
    begin(1);
    start(row.ranks);
    if (row.changes) replicas_->carry_out(command(CommandKind::kResize, 2, {0, 1, 2}), job());
    said();
    replicas_->gone(row.node, true, "fenced");
    const std::string left = row.node == 0 ? "u-member-2" : "u-member-0";
    EXPECT_THAT(said(), Contains("stop " + left + "@" + std::to_string(node_of(left)))) << row.what;
    answer(left, 2);
    if (row.changes) answer("u-member-1", 2);
    if (row.node != 0) answer(kMeeting, 2);
    EXPECT_THAT(told(), ElementsAre("crashed")) << row.what;
  }
}

TEST_F(MembersTest, WithoutAPlaceToMeetTheNextChangeIsARestart) {
  start({0, 2});
  end(kMeeting, 1);
  EXPECT_THAT(remarks_.back(), HasSubstr("the next change restarts it"));
  EXPECT_THAT(said(), ElementsAre("forget u-member-meeting@0"));
  replicas_->carry_out(command(CommandKind::kResize, 2, {0}), job());
  EXPECT_THAT(said(), ElementsAre("stop u-member-2@1")) << "to go, nobody needs it";
  answer("u-member-2", 2);
  EXPECT_THAT(told(), ElementsAre("done 2"));
  replicas_->carry_out(command(CommandKind::kResize, 3, {0, 1}), job());
  EXPECT_THAT(said(), Contains("stop u-member-0@0"));
  answer("u-member-0", 2);
  EXPECT_THAT(told(), ElementsAre("crashed"));
}

TEST_F(MembersTest, TheNextDaemonGoesOnWithWhatRuns) {
  start({0, 2});
  const std::uint32_t before = epoch("u-member-2");
  const Json first = runs({"u-member-0", kMeeting});
  adopt(JobStanding::kRunning, {0, 2});
  replicas_->resume(0, first);
  replicas_->tick();
  EXPECT_THAT(said(), IsEmpty()) << "who is on the other node is not known";
  replicas_->resume(1, Json::array());
  replicas_->tick();
  EXPECT_THAT(said(), ElementsAre("start u-member-2@1"));
  EXPECT_GT(epoch("u-member-2"), before);
  EXPECT_EQ(starts_["u-member-2"].at("environment").at("WEFT_JOIN"), "1");
  EXPECT_EQ(starts_["u-member-2"].at("ranks")[0].at("rank"), 1);
}

TEST_F(MembersTest, TheNextDaemonEndsAShrinkThatWasUnderWay) {
  start({0, 2});
  const Json first = runs({"u-member-0", kMeeting}), second = runs({"u-member-2"});
  adopt(JobStanding::kRunning, {0}, {0, 2});
  replicas_->carry_out(command(CommandKind::kResize, 2, {0}), job());
  replicas_->resume(0, first);
  EXPECT_THAT(told(), IsEmpty());
  replicas_->resume(1, second);
  EXPECT_EQ(said_.at(0).second.at("signal"), "SIGUSR1");
  EXPECT_THAT(said(), Each("stop u-member-2@1"));
  EXPECT_THAT(told(), IsEmpty());
  answer("u-member-2", 2);
  EXPECT_THAT(told(), ElementsAre("done 2"));
}

TEST_F(MembersTest, TheNextDaemonEndsAGrowthThatWasUnderWay) {
  start({0});
  const Json first = runs({"u-member-0", kMeeting});
  adopt(JobStanding::kRunning, {0, 3}, {0});
  replicas_->carry_out(command(CommandKind::kResize, 2, {0, 3}), job());
  replicas_->resume(0, first);
  replicas_->resume(1, Json::array());
  replicas_->tick();
  EXPECT_THAT(said(), ElementsAre("start u-member-3@1"));
  EXPECT_THAT(told(), IsEmpty());
  answer("u-member-3");
  EXPECT_THAT(told(), ElementsAre("done 2"));
}

TEST_F(MembersTest, TheNextDaemonEndsAStopThatWasUnderWay) {
  start({0, 2});
  const Json first = runs({kMeeting});
  adopt(JobStanding::kStopping, {0, 2});
  replicas_->resume(1, Json::array());
  replicas_->carry_out(command(CommandKind::kStop, 2), job());
  replicas_->resume(0, first);
  EXPECT_FALSE(said_.empty());
  EXPECT_THAT(said(), Each("stop u-member-meeting@0")) << "nothing is started";
  answer(kMeeting, 2);
  EXPECT_THAT(told(), ElementsAre("done 2"));
}

TEST_F(MembersTest, TheNextDaemonEndsAStartThatWasUnderWay) {
  replicas_->carry_out(command(CommandKind::kStart, 1, {0, 2}), job());
  said();
  const Json first = runs({kMeeting});
  adopt(JobStanding::kStarting, {0, 2});
  replicas_->carry_out(command(CommandKind::kStart, 1, {0, 2}), job());
  replicas_->resume(0, first);
  replicas_->resume(1, Json::array());
  replicas_->tick();
  EXPECT_THAT(said(), ElementsAre("start u-member-0@0", "start u-member-2@1"));
  EXPECT_EQ(starts_["u-member-2"].at("environment").at("WEFT_MEMBER"), "1");
  answer("u-member-0");
  answer("u-member-2");
  EXPECT_THAT(told(), ElementsAre("done 1"));
}

TEST_F(MembersTest, RanksThatAreLostAllTogetherAreACrash) {
  start({0, 2});
  adopt(JobStanding::kRunning, {0, 2});
  replicas_->resume(0, Json::array());
  replicas_->resume(1, Json::array());
  replicas_->tick();
  EXPECT_THAT(said(), IsEmpty());
  EXPECT_THAT(told(), ElementsAre("crashed"));
}

TEST_F(MembersTest, AreFoundByTheirRankAndSpeakForTheirJob) {
  start({0, 2});
  const RankPlace place = replicas_->place_of("u", 1);
  EXPECT_EQ(place.run, "u-member-2");
  EXPECT_EQ(place.node, 1u);
  EXPECT_EQ(place.ranks, 2);
  EXPECT_EQ(replicas_->place_of("u", 2).node, kNoNode);
  const auto speaks = [&](const char* uuid) { return replicas_->speaks_for(uuid, epoch(uuid)); };
  EXPECT_EQ(speaks("u-member-2"), 7u) << "nobody else has";
  EXPECT_EQ(speaks("u-member-0"), 7u);
  EXPECT_EQ(speaks("u-member-2"), std::nullopt);
  EXPECT_EQ(speaks(kMeeting), std::nullopt);
}

TEST_F(MembersTest, AHungJobIsEndedAsAFailureOfItsOwn) {
  start({0, 2});
  EXPECT_FALSE(replicas_->hung("v", 3, "hung"));
  EXPECT_TRUE(replicas_->hung("u", 2, "hung"));
  EXPECT_THAT(said(), IsEmpty()) << "of an epoch before";
  EXPECT_TRUE(replicas_->hung("u", 3, "hung"));
  EXPECT_THAT(told(), ElementsAre("held back", "held back")) << "from both nodes";
  EXPECT_THAT(said(), ElementsAre("stop u-member-0@0", "stop u-member-2@1"));
}

}  // namespace
}  // namespace weft::live
