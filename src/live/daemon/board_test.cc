#include "live/daemon/board.h"

#include <gtest/gtest.h>

namespace weft::live {
namespace {

TEST(BoardQueue, IsReadWithoutParsingTheRest) {
  const Cluster cluster = *parse_cluster_shorthand("1x1");
  const std::pair<const char*, const char*> rows[] = {
      {R"({"envs":{"queue":"wrong"},"queue":"right","run":"x"})", "right"},
      {R"({"name":"\"queue\":\"no\"","list":["queue",{"queue":"no"}],"queue":"b c"})", "b c"},
      {R"({"queue":"with \"quotes\""})", "with \"quotes\""},
      {R"({ "run": "x", "queue" : "spaced" })", "spaced"},
      {R"({"run":"queue"})", "default"},
  };
  for (const auto& [spec, queue] : rows) {
    Board board(cluster);
    EventRecord record;
    record.event.kind = EventKind::kSubmit;
    auto submission = std::make_shared<Submission>();
    submission->name = "j";
    submission->menu = std::make_shared<const Menu>(Menu{{Configuration{}}});
    record.event.submission = submission;
    record.job = JobIdentity{"uuid", "ann", 0, 0, spec};
    board.admit(record);
    EXPECT_EQ(board.at(0)->queue, queue) << spec;
  }
}

// A job on two nodes, its start and its stop, as the journal tells them.
class FrozenJob : public testing::Test {
 protected:
  FrozenJob() : cluster_(*parse_cluster_shorthand("2x1")), board_(cluster_) {
    EventRecord record;
    record.event.kind = EventKind::kSubmit;
    auto submission = std::make_shared<Submission>();
    submission->name = "j";
    submission->menu = std::make_shared<const Menu>(Menu{{Configuration{}}});
    record.event.submission = submission;
    record.job = JobIdentity{"uuid", "ann", 0, 0, "{}"};
    board_.admit(record);
    held_.devices = {{0}, {1}};
  }
  void command(CommandKind kind, std::uint32_t epoch, std::uint32_t number) {
    Command command;
    command.kind = kind;
    command.job = 0;
    command.epoch = epoch;
    command.number = number;
    command.allocation = &held_;
    board_.command(0, command);
  }
  void answer(std::uint32_t epoch, std::uint32_t number, const std::string& why = "",
              Outcome outcome = Outcome::kDone) {
    EventRecord record;
    record.event.kind = EventKind::kOutcome;
    record.event.job = 0;
    record.event.epoch = epoch;
    record.event.number = number;
    record.event.outcome = outcome;
    record.why = why;
    board_.tell(record);
  }
  void freeze() {
    command(CommandKind::kStart, 1, 1);
    answer(1, 1);
    command(CommandKind::kStop, 1, 2);
    answer(1, 2, "frozen on a, b");
  }

  const Cluster cluster_;
  Board board_;
  Allocation held_;
};

TEST_F(FrozenJob, AResizeIsWhatItHoldsUnlessItIsRefused) {
  command(CommandKind::kStart, 1, 1);
  answer(1, 1);
  const Allocation before = held_;
  held_.devices = {{0}};
  command(CommandKind::kResize, 1, 2);
  EXPECT_EQ(board_.at(0)->held, held_);
  EXPECT_EQ(board_.at(0)->resized_from, before);
  Board next(cluster_);
  ASSERT_TRUE(next.restore(board_.image()));
  EXPECT_EQ(next.at(0)->resized_from, before);
  answer(1, 2, "no", Outcome::kRefused);
  EXPECT_EQ(board_.at(0)->held, before);
  EXPECT_TRUE(board_.at(0)->resized_from.empty());
  command(CommandKind::kResize, 1, 3);
  answer(1, 3);
  EXPECT_EQ(board_.at(0)->held, held_);
  EXPECT_TRUE(board_.at(0)->resized_from.empty());
  EXPECT_EQ(board_.story_after(0).back().what, "j is resized to 1 devices");
}

TEST_F(FrozenJob, IsKnownUntilItRunsAgain) {
  freeze();
  EXPECT_EQ(board_.at(0)->frozen_epoch, 1u);
  EXPECT_EQ(board_.at(0)->frozen, held_);
  EXPECT_EQ(board_.at(0)->why, "frozen on a, b");
  EXPECT_EQ(board_.story_after(0).back().what, "j frozen on a, b, waits again");
  Board next(cluster_);
  ASSERT_TRUE(next.restore(board_.image()));
  EXPECT_EQ(next.at(0)->frozen_epoch, 1u);
  EXPECT_EQ(next.at(0)->frozen, held_);
  command(CommandKind::kStart, 2, 3);
  answer(2, 3, "no", Outcome::kRefused);
  EXPECT_EQ(board_.at(0)->frozen_epoch, 1u) << "they may still be there";
  command(CommandKind::kStart, 3, 5);
  answer(3, 5);
  EXPECT_EQ(board_.at(0)->frozen_epoch, 0u);
}

TEST_F(FrozenJob, IsNotFrozenAnyMoreWhenItsRanksAreGone) {
  freeze();
  EventRecord fenced;
  fenced.event.kind = EventKind::kNodeNotice;
  fenced.event.node = 1;
  fenced.why = "fenced by root";
  board_.tell(fenced);
  ASSERT_EQ(board_.at(0)->frozen.devices.size(), 1u) << "on the other node they may be";
  board_.frozen_gone(0, 1, "node a has lost it");
  EXPECT_EQ(board_.at(0)->frozen_epoch, 0u);
  EXPECT_EQ(board_.at(0)->why, "preempted");
  EXPECT_FALSE(is_evicted(*board_.at(0)));
}

class HeldJob : public FrozenJob {
 protected:
  void tell(EventKind kind, double value = 0) {
    EventRecord record;
    record.event.kind = kind;
    record.event.job = 0;
    record.event.epoch = board_.at(0)->epoch;
    record.event.value = value;
    record.why = "budget of ann: 3 of 2 spent";
    board_.tell(record);
  }
  void run() {
    command(CommandKind::kStart, 1, 1);
    answer(1, 1);
  }
};

TEST_F(HeldJob, IsHeldOnceItsRunIsOver) {
  run();
  tell(EventKind::kHold);
  EXPECT_EQ(board_.at(0)->standing, JobStanding::kRunning) << "what runs goes on";
  tell(EventKind::kHold, 1);
  command(CommandKind::kStop, 1, 2);
  EXPECT_EQ(board_.at(0)->standing, JobStanding::kStopping);
  Board next(cluster_);
  ASSERT_TRUE(next.restore(board_.image()));
  EXPECT_EQ(next.image(), board_.image());
  answer(1, 2);
  EXPECT_EQ(board_.at(0)->standing, JobStanding::kHeld);
  EXPECT_EQ(board_.at(0)->why, "budget of ann: 3 of 2 spent");
  tell(EventKind::kCrashed);
  EXPECT_EQ(board_.at(0)->standing, JobStanding::kHeld) << "that run was over";
  tell(EventKind::kRelease);
  EXPECT_EQ(board_.at(0)->standing, JobStanding::kQueued);
}

TEST_F(HeldJob, IsNotHeldIfItIsReleasedBeforeItHasStopped) {
  run();
  tell(EventKind::kHold, 1);
  command(CommandKind::kStop, 1, 2);
  tell(EventKind::kRelease);
  answer(1, 2);
  EXPECT_EQ(board_.at(0)->standing, JobStanding::kQueued);
}

TEST_F(FrozenJob, KnowsHowOftenItHasFailedInARow) {
  for (const std::uint32_t in_row : {1, 2, 0}) {  // the last: a node was lost
    const std::uint32_t epoch = board_.at(0)->epoch + 1;
    command(CommandKind::kStart, epoch, 1);
    answer(epoch, 1);
    EventRecord crash;
    crash.event.kind = EventKind::kCrashed;
    crash.event.job = 0;
    crash.event.epoch = epoch;
    crash.event.number = in_row;
    board_.tell(crash);
  }
  Board next(cluster_);
  ASSERT_TRUE(next.restore(board_.image()));
  EXPECT_EQ(next.at(0)->failures, 2u);
  EXPECT_EQ(next.at(0)->failed_in_row, 2u);
}

TEST_F(HeldJob, AnImageThatKnowsOfNoHoldsResizesAndFailuresIsRead) {
  run();
  ArchiveWriter none;
  none(std::map<JobId, std::string>{}, std::map<JobId, Allocation>{},
       std::map<JobId, std::uint32_t>{});
  const std::string image = board_.image();
  Board next(cluster_);
  ASSERT_TRUE(next.restore(std::string_view(image).substr(0, image.size() - none.take().size())));
  EXPECT_EQ(next.image(), image);
}

}  // namespace
}  // namespace weft::live
