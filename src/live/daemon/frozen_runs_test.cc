// What becomes of frozen ranks: lost, cancelled, found again by the next controller.
#include "live/daemon/runs_freeze_testing.h"

namespace weft::live {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

using FrozenTest = FreezeWorld;

TEST_F(FrozenTest, FrozenRanksThatAreLostMakeTheNextStartAnOrdinaryOne) {
  struct Row {
    const char* what;
    std::function<void()> happens;
    std::vector<std::string> said;
  };
  const std::vector<Row> rows = {
      {"a rank died",
       [&] { runs_->ended(1, "u", 1, 1, 0, 9, "keeper lost"); },
       {"n0 stop 1 SIGUSR1", "n1 stop 1 SIGUSR1"}},
      {"the node came back without it",
       [&] { runs_->resume(1, listed({})); },
       {"n0 stop 1 SIGUSR1"}},
      {"the node was fenced", [&] { runs_->gone(1, true, "fenced"); }, {"n0 stop 1 SIGUSR1"}},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.what);
    restart_controller();
    thawed_.clear();
    frozen({0, 2});
    row.happens();
    EXPECT_EQ(said(), row.said);
    start(2, {0, 2});
    EXPECT_THAT(said(), IsEmpty()) << "first the rest goes";
    for (const NodeId node : {0u, 1u}) done(node, 1, kLastNumber);
    EXPECT_THAT(said(), ElementsAre("n0 forget 1", "n1 forget 1", "n0 start 2", "n1 start 2"));
    EXPECT_EQ(thawed_.size(), 1u);
  }
}

TEST_F(FrozenTest, ALeaseThatIsOverCountsOnlyForWhatEndsWithIt) {
  frozen({0});
  runs_->gone(0, false, "nothing heard for 11 s");
  EXPECT_NE(runs_->frozen().find("u"), nullptr) << "on_controller_loss is continue";
  EXPECT_THAT(said(), IsEmpty());
}

TEST_F(FrozenTest, ACancelledJobsFrozenRanksEnd) {
  frozen({0, 2});
  runs_->end_frozen("u", "the job has ended");
  EXPECT_THAT(said(), ElementsAre("n0 stop 1 SIGUSR1", "n1 stop 1 SIGUSR1"));
  runs_->end_frozen("u", "the job has ended");
  EXPECT_THAT(said(), IsEmpty());
  runs_->resume(1, listed({1}));
  EXPECT_THAT(said(), ElementsAre("n1 stop 1 SIGUSR1")) << "the message may have been lost";
  done(0, 1, kLastNumber);
  done(1, 1, kLastNumber);
  EXPECT_THAT(thawed_, ElementsAre("the job has ended"));
  EXPECT_EQ(runs_->frozen().find("u"), nullptr);
}

TEST_F(FrozenTest, DoubledCommandsAreAnsweredAgainAndNotDoneAgain) {
  running({0});
  stop(1);
  stop(1);
  EXPECT_THAT(said(), ElementsAre("n0 freeze 1", "n0 freeze 1")) << "agents know the number";
  done(0, 1, kFreezeNumber);
  done(0, 1, kFreezeNumber);
  expect_told(EventKind::kOutcome, 1, 2);
  stop(1);
  ASSERT_EQ(told_.size(), 1u);
  EXPECT_THAT(told_[0].why, HasSubstr("frozen on "));
  expect_told(EventKind::kOutcome, 1, 2);
  start(2, {0});
  start(2, {0});
  EXPECT_THAT(said(), ElementsAre("n0 start 2 thaw 1", "n0 start 2 thaw 1"));
  done(0, 2, 3);
  done(0, 2, 3);
  expect_told(EventKind::kOutcome, 2, 3);
  start(2, {0});
  EXPECT_THAT(said(), IsEmpty());
  expect_told(EventKind::kOutcome, 2, 3);
}

TEST_F(FrozenTest, ARestartedControllerKnowsFrozenRanksFromStrangers) {
  restart_controller();
  runs_->adopt(frozen_view(JobStanding::kQueued, {0, 2}));
  runs_->resume(0, listed({1}));
  EXPECT_THAT(said(), IsEmpty()) << "they are those of a job that waits";
  start(2, {0, 2});
  EXPECT_THAT(said(), ElementsAre("n0 start 2 thaw 1", "n1 start 2 thaw 1"));
  // A node that was away has them too, or says no.
  runs_->resume(1, listed({1}));
  EXPECT_THAT(said(), ElementsAre("n1 start 2 thaw 1"));
  done(0, 2, 3);
  runs_->outcome(1, "u", 2, 3, "refused", "its frozen epoch 1 is not here");
  EXPECT_THAT(said(), ElementsAre("n0 stop 1 SIGUSR1", "n1 stop 1 SIGUSR1", "n0 stop 2 SIGUSR1"))
      << "a gang goes on whole or not at all";
  for (const NodeId node : {0u, 1u}) done(node, 1, kLastNumber);
  done(0, 2, kLastNumber);
  expect_told(EventKind::kOutcome, 2, 3, Outcome::kRefused);
  said();
  start(3, {0, 2});
  EXPECT_THAT(said(), ElementsAre("n0 start 3", "n1 start 3"));

  restart_controller();
  runs_->resume(0, listed({1}));
  EXPECT_THAT(said(), ElementsAre("n0 stop 1 SIGTERM")) << "nobody waits for these";
}

TEST_F(FrozenTest, ARestartedControllerLooksAtNodesBeforeItStartsElsewhere) {
  restart_controller();
  runs_->adopt(frozen_view(JobStanding::kQueued, {0}));
  start(2, {2});
  said();
  EXPECT_THAT(said(), IsEmpty());
  runs_->resume(1, listed({}));
  EXPECT_THAT(said(), IsEmpty()) << "node 0 has not spoken yet";
  runs_->resume(0, listed({}));
  EXPECT_THAT(said(), ElementsAre("n0 forget 1", "n1 start 2"));
}

TEST_F(FrozenTest, ARestartedControllerFindsAStartThatThawsHalfDone) {
  restart_controller();
  JobView view = frozen_view(JobStanding::kStarting, {0, 2});
  view.epoch = 2;
  view.held = view.frozen;
  runs_->adopt(view);
  start(2, {0, 2});
  said();
  runs_->resume(0, listed({2}));
  runs_->resume(1, listed({1}));
  EXPECT_THAT(said(), ElementsAre("n0 start 2 thaw 1", "n1 start 2 thaw 1"));
  done(0, 2, 3);
  done(1, 2, 3);
  expect_told(EventKind::kOutcome, 2, 3);
}

TEST_F(FrozenTest, AStartThatThawsAndIsStoppedLeavesNothingBehind) {
  frozen({0, 2});
  start(2, {0, 2});
  done(0, 2, 3);
  said();
  stop(2);
  EXPECT_THAT(said(), UnorderedElementsAre("n0 stop 1 SIGUSR1", "n1 stop 1 SIGUSR1",
                                           "n0 stop 2 SIGUSR1", "n1 stop 2 SIGUSR1"));
  for (const NodeId node : {0u, 1u}) done(node, 2, kLastNumber);
  expect_told(EventKind::kOutcome, 2, 4);
  said();
  start(3, {0, 2});
  EXPECT_THAT(said(), IsEmpty()) << "ranks of the first epoch may still be there";
  for (const NodeId node : {0u, 1u}) done(node, 1, kLastNumber);
  EXPECT_THAT(said(), ElementsAre("n0 forget 1", "n1 forget 1", "n0 start 3", "n1 start 3"));
}

TEST_F(FrozenTest, FrozenRunsAreListedOnce) {
  frozen({0});
  const auto list = runs_->list(0);
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(list[0].state, EngineRun::State::kFrozen);
  EXPECT_THAT(runs_->list(list[0].changed), IsEmpty());
}

TEST(FrozenRuns, MemoryThatTheyKeepIsBounded) {
  Cluster cluster = *parse_cluster_shorthand("2x2");
  cluster.nodes[0].memory = 100;
  FrozenRuns frozen(cluster, 1, {});
  const auto shape = [](NodeId node, int device, Bytes memory) {
    RunShape made;
    made.ranks[node] = {
        nlohmann::json{{"devices", nlohmann::json::array({device})}, {"memory", memory}}};
    return made;
  };
  FrozenRun held;
  held.shape = shape(0, 0, 30);
  frozen.keep("a", held);
  struct Row {
    const char* what;
    RunShape shape;
    bool room;
  };
  for (const Row& row :
       {Row{"one more on the same device", shape(0, 0, 1), false},
        Row{"on the other device", shape(0, 1, 20), true},
        Row{"more than half of the memory", shape(0, 1, 21), false},
        Row{"another node, whose memory nobody stated", shape(1, 0, 1000), true}}) {
    EXPECT_EQ(frozen.has_room(row.shape), row.room) << row.what;
  }
}

}  // namespace
}  // namespace weft::live
