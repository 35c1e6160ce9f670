// Preemption by freezing, message by message: what is frozen, what goes on, what is stopped
// instead.
#include "live/daemon/runs_freeze_testing.h"

namespace weft::live {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using FreezeTest = FreezeWorld;

TEST_F(FreezeTest, APreemptedRunIsFrozenAndGoesOnInTheNextEpoch) {
  running({0, 2});
  stop(1);
  EXPECT_THAT(said(), ElementsAre("n0 freeze 1", "n1 freeze 1"));
  done(0, 1, kFreezeNumber);
  EXPECT_THAT(told_, IsEmpty()) << "the other node's ranks still run";
  done(1, 1, kFreezeNumber);
  ASSERT_EQ(told_.size(), 1u);
  EXPECT_EQ(told_[0].why,
            fmt::format("frozen on {}, {}", cluster_.nodes[0].name, cluster_.nodes[1].name));
  expect_told(EventKind::kOutcome, 1, 2);
  EXPECT_THAT(said(), IsEmpty()) << "nothing is forgotten";
  EXPECT_EQ(runs_->size(), 0u);

  start(2, {0, 2});
  EXPECT_THAT(said(), ElementsAre("n0 start 2 thaw 1", "n1 start 2 thaw 1"));
  done(0, 2, 3);
  EXPECT_THAT(told_, IsEmpty());
  done(1, 2, 3);
  expect_told(EventKind::kOutcome, 2, 3);
  EXPECT_EQ(runs_->frozen().find("u"), nullptr);
  EXPECT_THAT(said(), IsEmpty());
  EXPECT_THAT(thawed_, IsEmpty());
  stop(2);
  EXPECT_THAT(said(), ElementsAre("n0 freeze 2", "n1 freeze 2"));
}

TEST_F(FreezeTest, ElsewhereNothingStartsBeforeTheFrozenRanksAreGone) {
  struct Row {
    const char* what;
    std::vector<DeviceId> then;
    std::vector<std::string> starts;
  };
  for (const Row& row : {Row{"another node", {2}, {"n1 start 2"}},
                         Row{"another device of the node", {1}, {"n0 start 2"}},
                         Row{"more devices", {0, 1}, {"n0 start 2"}},
                         Row{"more nodes", {0, 2}, {"n0 start 2", "n1 start 2"}}}) {
    SCOPED_TRACE(row.what);
    restart_controller();
    thawed_.clear();
    frozen({0});
    start(2, row.then);
    EXPECT_THAT(said(), ElementsAre("n0 stop 1 SIGUSR1"));
    runs_->resume(1, listed({}));
    EXPECT_THAT(said(), IsEmpty()) << "also when a node comes";
    start(2, row.then);
    EXPECT_THAT(said(), IsEmpty()) << "also when it is asked for again";
    runs_->ended(0, "u", 1, 0, 0, 0, "stopped");
    EXPECT_THAT(said(), IsEmpty());
    done(0, 1, kLastNumber);
    std::vector<std::string> want = {"n0 forget 1"};
    want.insert(want.end(), row.starts.begin(), row.starts.end());
    EXPECT_THAT(said(), testing::ElementsAreArray(want));
    EXPECT_THAT(thawed_, ElementsAre("it starts elsewhere"));
    EXPECT_THAT(told_, IsEmpty());
  }
}

TEST_F(FreezeTest, WhatIsNotAPreemptionEndsTheRanks) {
  struct Row {
    const char* what;
    Preemption preempt;
    JobStanding standing;
    const char* why;
    NodeId out_of_service;
    std::uint32_t number;
  };
  for (const Row& row : {Row{"it was not asked for", Preemption::kCheckpoint,
                             JobStanding::kStopping, "", kNoNode, 2},
                         Row{"a cancelled job", Preemption::kFreeze, JobStanding::kCancelled, "",
                             kNoNode, kLastNumber},
                         Row{"an idle job", Preemption::kFreeze, JobStanding::kStopping,
                             "preempted: it has used nothing for 60 s", kNoNode, kLastNumber},
                         Row{"a node that is drained or silent", Preemption::kFreeze,
                             JobStanding::kStopping, "", 0, kLastNumber}}) {
    SCOPED_TRACE(row.what);
    restart_controller();
    preempt_ = row.preempt;
    out_of_service_ = row.out_of_service;
    running({0});
    stop(1, row.standing, row.why);
    EXPECT_THAT(said(), ElementsAre("n0 stop 1 SIGUSR1"));
    done(0, 1, row.number);
    expect_told(EventKind::kOutcome, 1, 2);
    EXPECT_EQ(runs_->frozen().find("u"), nullptr);
    said();
  }
}

TEST_F(FreezeTest, ARunThatHasNotStartedOrWhoseRanksEndedIsStopped) {
  start(1, {0});
  stop(1);
  EXPECT_THAT(said(), ElementsAre("n0 start 1", "n0 stop 1 SIGUSR1"));
  restart_controller();
  running({0, 1});
  runs_->ended(0, "u", 1, 1, 0, 0, "");
  stop(1);
  EXPECT_THAT(said(), ElementsAre("n0 stop 1 SIGUSR1"));
}

TEST_F(FreezeTest, WhatCannotBeFrozenIsStoppedInstead) {
  struct Row {
    const char* what;
    std::function<void()> happens;
    std::vector<std::string> said;
  };
  const std::vector<std::string> both = {"n0 stop 1 SIGUSR1", "n1 stop 1 SIGUSR1"};
  const std::vector<Row> rows = {
      {"an agent refuses", [&] { runs_->outcome(1, "u", 1, kFreezeNumber, "refused", "no"); },
       both},
      {"the kernel fails", [&] { runs_->outcome(1, "u", 1, kFreezeNumber, "failed", "no"); }, both},
      {"a rank ends meanwhile",
       [&] { runs_->ended(1, "u", 1, 1, 0, 0, ""); },
       {"n0 stop 1 SIGUSR1"}},
      {"a node is lost", [&] { runs_->gone(1, true, "fenced"); }, {"n0 stop 1 SIGUSR1"}},
      {"nobody answers", [&] { now_ += 5, runs_->tick(); }, both},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.what);
    restart_controller();
    running({0, 2});
    stop(1);
    done(0, 1, kFreezeNumber);
    runs_->tick();
    said();
    row.happens();
    EXPECT_EQ(said(), row.said);
    for (const NodeId node : {0u, 1u}) done(node, 1, kLastNumber);
    ASSERT_EQ(told_.size(), 1u);
    EXPECT_EQ(told_[0].why, "");
    expect_told(EventKind::kOutcome, 1, 2);
    EXPECT_EQ(runs_->frozen().find("u"), nullptr);
  }
}

}  // namespace
}  // namespace weft::live
