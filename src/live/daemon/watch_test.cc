#include "live/daemon/watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <csignal>

#include "live/job/job_json.h"

namespace weft::live {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Jobs that a board shows as running, and a clock in the test's hands.
class WatchTest : public testing::Test {
 protected:
  WatchTest() : cluster_(*parse_cluster_shorthand("2x2")), board_(cluster_) { make(kNever); }

  void make(Seconds reclaim_idle_s) {
    watch_ = std::make_unique<Watch>(
        board_, reclaim_idle_s,
        Watch::Links{[this] { return now_; },
                     [this](EventRecord record) {
                       const char* kind =
                           record.event.kind == EventKind::kEvict ? "evict " : "hold ";
                       did_.push_back(kind + board_.at(record.event.job)->name);
                       board_.tell(record);
                     },
                     [this](const std::string& uuid, std::uint32_t epoch, const std::string& why) {
                       did_.push_back(fmt("stacks ", uuid, epoch));
                       why_ = why;
                     },
                     [this](const std::string& uuid, std::uint32_t epoch, const std::string&) {
                       did_.push_back(fmt("restart ", uuid, epoch));
                     },
                     [this](const std::string& uuid, int number) {
                       did_.push_back(fmt("signal ", uuid, static_cast<std::uint32_t>(number)));
                     }});
  }
  static std::string fmt(const char* what, const std::string& uuid, std::uint32_t number) {
    return what + uuid + " " + std::to_string(number);
  }
  JobSpec spec(const std::string& name) {
    JobSpec job;
    job.name = name;
    job.run = "true";
    return job;
  }
  JobId submit(const JobSpec& job, TenantId tenant = 0) {
    EventRecord record;
    record.event.kind = EventKind::kSubmit;
    auto submission = std::make_shared<Submission>();
    submission->name = job.name;
    submission->tenant = tenant;
    submission->menu = std::make_shared<Menu>(Menu{{Configuration{}}});
    record.event.submission = submission;
    record.job = JobIdentity{job.name, "ann", 0, 0, to_json(job).dump()};
    board_.admit(record);
    return board_.find(job.name)->id;
  }
  void run(JobId id, std::vector<DeviceId> devices, std::uint32_t epoch = 1) {
    Allocation held;
    for (const DeviceId device : devices) held.devices.push_back({device});
    board_.command(now_, {CommandKind::kStart, id, epoch, epoch, kNever, &held});
    EventRecord started;
    started.event.kind = EventKind::kOutcome;
    started.event.job = id;
    started.event.epoch = started.event.number = epoch;
    board_.tell(started);
    ASSERT_EQ(board_.at(id)->standing, JobStanding::kRunning);
  }
  void step(JobId id, double step, Seconds after) {
    now_ += after;
    watch_->progress(*board_.at(id), step);
  }
  std::vector<std::string> did() { return std::exchange(did_, {}); }
  void pass(Seconds seconds) {
    now_ += seconds;
    watch_->tick();
  }

  Cluster cluster_;
  Board board_;
  Seconds now_ = 1000;
  std::vector<std::string> did_;
  std::string why_;
  std::unique_ptr<Watch> watch_;
};

TEST_F(WatchTest, AJobThatMakesNoStepForLongIsHung) {
  JobSpec job = spec("a");
  job.hang = {10, 60, HangAction::kRestart};
  const JobId id = submit(job);
  run(id, {0});
  for (int i = 1; i <= 5; ++i) step(id, i, 8);
  pass(79);
  EXPECT_THAT(did(), IsEmpty()) << "8 s a step: 80 s may pass";
  pass(2);
  EXPECT_THAT(did(), ElementsAre("stacks a 1"));
  EXPECT_THAT(why_, HasSubstr("no step for 81 s at step 5, where one takes 8 s"));
  EXPECT_THAT(board_.at(id)->remark, HasSubstr("hung: no step"));
  pass(1);
  EXPECT_THAT(did(), IsEmpty()) << "the stacks take a moment";
  pass(2);
  EXPECT_THAT(did(), ElementsAre("restart a 1"));
  pass(100);
  EXPECT_THAT(did(), IsEmpty()) << "once";
}

TEST_F(WatchTest, TheLeastTimeAndThatThereAreStepsAtAllCount) {
  JobSpec quick = spec("quick"), silent = spec("silent"), never = spec("never");
  quick.hang = {10, 60, HangAction::kReport};
  never.hang.factor = 0;
  const JobId a = submit(quick), b = submit(silent), c = submit(never);
  run(a, {0});
  run(b, {1});
  run(c, {2});
  for (int i = 1; i <= 5; ++i) {
    step(a, i, 0.1);
    step(c, i, 0.1);
  }
  step(b, 1, 0.1);
  pass(50);
  EXPECT_THAT(did(), IsEmpty());
  pass(11);
  EXPECT_THAT(did(), ElementsAre("stacks quick 1"));
  pass(1000);
  EXPECT_THAT(did(), IsEmpty()) << "only reported";
  step(a, 6, 1);
  EXPECT_EQ(board_.at(a)->remark, "") << "it goes on";
}

TEST_F(WatchTest, WhoIsIdleEverywhereMakesRoomIfOthersWait) {
  make(300);
  const JobId lazy = submit(spec("lazy"));
  run(lazy, {0, 2});
  watch_->usage(*board_.at(lazy), 0, 400);
  watch_->usage(*board_.at(lazy), 1, 10);
  pass(1);
  EXPECT_EQ(board_.at(lazy)->idle_s, 10);
  watch_->usage(*board_.at(lazy), 1, 350);
  pass(1);
  EXPECT_EQ(board_.at(lazy)->idle_s, 350);
  EXPECT_THAT(did(), IsEmpty()) << "nobody waits";
  submit(spec("waiting"));
  pass(1);
  EXPECT_THAT(did(), ElementsAre("hold lazy", "evict lazy"));
  EXPECT_EQ(board_.at(lazy)->why, "preempted: it has used nothing for 350 s");
  pass(1);
  EXPECT_THAT(did(), IsEmpty()) << "once";
}

TEST_F(WatchTest, OnlyWhoMayBePreemptedMakesRoom) {
  make(300);
  JobSpec firm = spec("firm");
  firm.preemptible = false;
  const JobId id = submit(firm);
  run(id, {0});
  submit(spec("waiting"));
  watch_->usage(*board_.at(id), 0, 400);
  pass(1);
  EXPECT_THAT(did(), IsEmpty());
}

TEST_F(WatchTest, ANodeThatWillGoIsLeftInTime) {
  JobSpec told = spec("told"), plain = spec("plain"), elsewhere = spec("elsewhere");
  told.resources.use_spot = true;
  told.resources.notice_signal = "SIGUSR1";
  told.checkpoint.grace = 30;
  run(submit(told), {0});
  run(submit(plain), {1});
  run(submit(elsewhere), {2});
  watch_->leave(0, now_ + 120);
  EXPECT_THAT(did(), ElementsAre(fmt("signal ", "told", SIGUSR1), "evict plain"));
  pass(89);
  EXPECT_THAT(did(), IsEmpty()) << "it may save and go on";
  pass(2);
  EXPECT_THAT(did(), ElementsAre("evict told"));
}

TEST_F(WatchTest, AReservedNodeIsClearedOfOthers) {
  run(submit(spec("mine"), 4), {0});
  run(submit(spec("other"), 0), {1});
  run(submit(spec("elsewhere"), 0), {2});
  EventRecord close;
  close.event.kind = EventKind::kClose;
  close.event.node = 0;
  close.event.number = 1;
  close.event.value = now_ + 100;
  close.event.value2 = now_ + 200;
  close.event.epoch = 5;
  board_.tell(close);
  pass(99);
  EXPECT_THAT(did(), IsEmpty());
  pass(2);
  EXPECT_THAT(did(), ElementsAre("evict other"));
}

}  // namespace
}  // namespace weft::live
