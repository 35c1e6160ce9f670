#include "sim/world.h"

#include <gtest/gtest.h>

#include "sim/sim_testing.h"

namespace weft {
namespace {

// A world of one node of two devices and two jobs of 100 s, without a controller.
class WorldTest : public testing::Test, public Listener {
 protected:
  WorldTest()
      : cluster_(testing_cluster("1x2")),
        trace_(testing_trace({{0, 1, 100}, {0, 1, 100}})),
        metrics_(cluster_, false),
        world_(cluster_, options_, nullptr, nullptr, queue_, metrics_, *this) {
    for (JobId id = 0; id < 2; ++id) world_.add(id, trace_.jobs[id], 0);
  }

  void tell(const Event& event) override { told_.push_back(event); }

  void execute(CommandKind kind, JobId job, std::uint32_t number, DeviceId device, Seconds now,
               bool refuse = false) {
    Allocation allocation;
    allocation.devices = {{device}};
    Command command;
    command.kind = kind;
    command.job = job;
    command.epoch = 1;
    command.number = number;
    if (kind != CommandKind::kStop) command.allocation = &allocation;
    world_.execute(command, refuse, now);
  }
  void start(JobId job, std::uint32_t number, DeviceId device, Seconds now) {
    execute(CommandKind::kStart, job, number, device, now);
  }

  Cluster cluster_;
  Trace trace_;
  SimOptions options_;
  EventQueue queue_;
  Metrics metrics_;
  std::vector<Event> told_;
  World world_;
};

TEST_F(WorldTest, ARepeatedCommandIsAnsweredAndNotExecutedAgain) {
  start(0, 1, 0, 10);
  start(0, 1, 0, 20);
  ASSERT_EQ(told_.size(), 2u);
  EXPECT_EQ(told_[1].outcome, Outcome::kDone);
  EXPECT_EQ(queue_.next_at(), 110) << "it runs since 10";
  EXPECT_EQ(world_.busy_devices(), 1);
}

TEST_F(WorldTest, AnOutdatedCommandIsDropped) {
  start(0, 5, 0, 0);
  execute(CommandKind::kStop, 0, 4, 0, 1);
  EXPECT_EQ(told_.size(), 1u);
  EXPECT_EQ(world_.running(), 1u);
}

TEST_F(WorldTest, ARefusalIsRepeatedForTheSameNumberOnly) {
  execute(CommandKind::kStart, 0, 1, 0, 0, /*refuse=*/true);
  start(0, 1, 0, 1);
  EXPECT_EQ(told_[1].outcome, Outcome::kRefused);
  EXPECT_EQ(world_.running(), 0u);
  start(0, 2, 0, 2);
  EXPECT_EQ(told_[2].outcome, Outcome::kDone);
  EXPECT_EQ(world_.running(), 1u);
}

TEST_F(WorldTest, ACleanStopKeepsTheWorkDone) {
  start(0, 1, 0, 0);
  execute(CommandKind::kStop, 0, 2, 0, 30);
  EXPECT_EQ(told_.back().value, 30);
  EXPECT_EQ(world_.busy_devices(), 0);
  start(0, 3, 1, 50);
  while (queue_.next_at() < kNever) {
    const Scheduled due = queue_.pop();
    world_.finish_due(due.subject, due.detail, due.at);
  }
  EXPECT_EQ(told_.back().kind, EventKind::kFinished);
  EXPECT_EQ(told_.back().at, 120);
  EXPECT_EQ(world_.records()[0].run_s, 100);
}

TEST_F(WorldTest, ANodeThatFailsKillsWhatRunsThereAndRefusesWhatComes) {
  start(0, 1, 0, 0);
  EXPECT_TRUE(world_.fail(0, kNoDevice, 40));
  EXPECT_FALSE(world_.fail(0, kNoDevice, 40)) << "it is out already";
  EXPECT_EQ(told_.back().kind, EventKind::kCrashed);
  EXPECT_EQ(told_.back().value, 40) << "all is kept when there is no checkpoint interval";
  start(1, 1, 1, 41);
  EXPECT_EQ(told_.back().outcome, Outcome::kRefused);
  world_.restore(0, kNoDevice);
  start(1, 2, 1, 42);
  EXPECT_EQ(told_.back().outcome, Outcome::kRefused) << "the other outage holds";
  world_.restore(0, kNoDevice);
  start(1, 3, 1, 42);
  EXPECT_EQ(told_.back().outcome, Outcome::kDone);
}

TEST_F(WorldTest, AJobThatIsOverAnswersEveryStartWithItsEnd) {
  start(0, 1, 0, 0);
  world_.finish_due(0, queue_.pop().detail, 100);
  EXPECT_EQ(world_.active(), 1u);
  start(0, 2, 0, 200);
  EXPECT_EQ(told_.back().kind, EventKind::kFinished);
  EXPECT_EQ(world_.busy_devices(), 0);
}

TEST_F(WorldTest, AJobGoesThroughItsPhasesAndTellsOfEachWhenItBegins) {
  trace_.jobs[0].truth.phases = {{0, 1}, {20, 4}, {80, 0.5}};
  start(0, 1, 0, 0);
  const Scheduled first = queue_.pop();
  EXPECT_EQ(first.at, 20);
  world_.finish_due(first.subject, first.detail, first.at);
  execute(CommandKind::kStop, 0, 2, 0, 25);
  EXPECT_EQ(told_.back().value, 40) << "20 in 20 s and 20 in 5 s";
  start(0, 3, 0, 100);
  std::vector<std::pair<Seconds, double>> rates;  // when told, and which
  const auto note = [&] {
    if (told_.back().kind == EventKind::kProgress) {
      rates.emplace_back(told_.back().at, told_.back().value2);
    }
  };
  note();
  while (queue_.next_at() < kNever) {
    const Scheduled due = queue_.pop();
    const size_t before = told_.size();
    world_.finish_due(due.subject, due.detail, due.at);
    if (told_.size() > before) note();
  }
  EXPECT_EQ(rates, (std::vector<std::pair<Seconds, double>>{{100, 4}, {110, 0.5}}));
  EXPECT_EQ(told_.back().kind, EventKind::kFinished);
  EXPECT_EQ(told_.back().at, 150) << "40 in 10 s and 20 in 40 s";
}

using WorldDeathTest = WorldTest;

TEST_F(WorldDeathTest, TwoJobsOnOneDeviceAbort) {
  start(0, 1, 0, 0);
  EXPECT_DEATH(start(1, 1, 0, 0), "two jobs run on one device");
}

}  // namespace
}  // namespace weft
