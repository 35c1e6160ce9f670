#include "control/controller.h"

#include <gtest/gtest.h>

#include "control/control_testing.h"

namespace weft {
namespace {

using ControllerTest = ControlTest;

TEST_F(ControllerTest, TellsThePolicyOnceWhatChanged) {
  const JobId a = submit(1), b = submit(1);
  controller_.decide(now_);
  ASSERT_EQ(policy_.changes.size(), 1u);
  EXPECT_EQ(policy_.changes[0].arrived, (std::vector<JobId>{a, b}));
  controller_.decide(now_);
  EXPECT_EQ(policy_.changes.size(), 1u) << "nothing new, no decision";
}

TEST_F(ControllerTest, WakesThePolicyWhenItAskedForIt) {
  submit(1);
  decide([](Draft& draft) { draft.wake_at(40); });
  EXPECT_EQ(controller_.next_wake(), 40);
  now_ = 40;
  controller_.decide(now_);
  EXPECT_TRUE(policy_.changes.back().woke);
  EXPECT_EQ(controller_.next_wake(), kNever);
}

TEST_F(ControllerTest, AttainedServiceIsTheSumOfRunningIntervals) {
  const JobId a = submit(2);
  start(a, {0, 1});
  now_ = 10;
  answer(executor_.last());
  now_ = 25;
  stop(a);
  EXPECT_EQ(job(a).attained_run_s(now_), 15) << "it runs until the stop is confirmed";
  now_ = 30;
  answer(executor_.last());
  now_ = 100;
  EXPECT_EQ(job(a).attained_run_s(now_), 20);
  EXPECT_EQ(job(a).attained_device_s(now_), 40);
  start(a, {2, 3});
  answer(executor_.last());
  now_ = 105;
  EXPECT_EQ(job(a).attained_device_s(now_), 50);
}

// A job that is stopped while it still loads has done nothing, however long it ran.
TEST_F(ControllerTest, AStopTellsHowMuchWorkWasDone) {
  const JobId a = submit(2);
  start(a, {0, 1});
  answer(executor_.last());
  now_ = 25;
  EXPECT_EQ(job(a).believed_work(now_), 25) << "nothing was heard from it";
  stop(a);
  answer(executor_.last());
  EXPECT_EQ(job(a).believed_work(now_), 0);
}

TEST_F(ControllerTest, AFinishedJobFreesItsDevicesOnce) {
  const JobId a = submit(2);
  start(a, {0, 1});
  const SentCommand started = executor_.last();
  answer(started);
  now_ = 50;
  finish(started);
  finish(started);
  answer(started);
  EXPECT_EQ(job(a).phase, Phase::kEnded);
  EXPECT_EQ(controller_.state().ledger.free_whole_total(), 4u);
  EXPECT_EQ(controller_.state().placed, 0u);
  EXPECT_EQ(controller_.state().waiting, 0u);
  EXPECT_EQ(controller_.state().ended_service_s, std::vector<double>{100});
}

TEST_F(ControllerTest, AFinishThatComesBeforeTheStartsOutcomeEndsTheJob) {
  const JobId a = submit(1);
  start(a, {0});
  const SentCommand started = executor_.last();
  finish(started);
  EXPECT_EQ(job(a).phase, Phase::kEnded);
  answer(started);
  EXPECT_FALSE(job(a).running);
  EXPECT_EQ(standing(a), Standing::kIdle);
}

TEST_F(ControllerTest, ACrashReturnsTheJobWithTheWorkItSaved) {
  const JobId a = submit(2);
  start(a, {0, 1});
  const SentCommand started = executor_.last();
  answer(started);
  now_ = 30;
  Event crash = about_job(EventKind::kCrashed, a, started.epoch);
  crash.value = 20;
  tell(crash);
  EXPECT_EQ(job(a).phase, Phase::kWaiting);
  EXPECT_EQ(job(a).reported_work, 20);
  EXPECT_EQ(job(a).restarts, 1);
  controller_.decide(now_);
  EXPECT_EQ(policy_.changes.back().returned, std::vector<JobId>{a});
}

TEST_F(ControllerTest, CrashesInARowHoldTheJobBackLongerUnlessTheRunGotFurther) {
  const JobId a = submit(1);
  const auto crash = [&](double added, Seconds ran = 1) {
    start(a, {0});
    answer(executor_.last());
    now_ += ran;
    Event event = about_job(EventKind::kCrashed, a, executor_.last().epoch);
    event.value2 = added;
    tell(event);
    const Seconds held = job(a).held_back_until - now_;
    now_ = job(a).held_back_until;
    return held;
  };
  EXPECT_EQ(crash(5), 0) << "at once";
  EXPECT_EQ(crash(0), 1);
  EXPECT_EQ(crash(0), 2);
  EXPECT_EQ(crash(5), 0);
  EXPECT_EQ(crash(0), 1);
  EXPECT_EQ(crash(0, 64), 2);
  EXPECT_EQ(crash(0, 65), 0) << "it had run for longer than any pause";
}

TEST_F(ControllerTest, RemembersOnWhichNodesAJobFailedUntilItEnds) {
  const JobId a = submit(1), b = submit(1);
  start(a, {0});
  answer(executor_.last());
  Event crash = about_job(EventKind::kCrashed, a, executor_.last().epoch);
  crash.node = 0;
  now_ = 7;
  tell(crash);
  tell(about_node(EventKind::kNodeDown, 0));
  const FailureLog& failures = controller_.state().failures;
  EXPECT_EQ(failures.nodes, (std::map<NodeId, Seconds>{{0, 7}}));
  EXPECT_EQ(failures.jobs.at(a), std::vector<NodeId>{0});
  // A node that goes after a notice was revoked; it has not failed.
  start(b, {2});
  answer(executor_.last());
  crash = about_job(EventKind::kCrashed, b, executor_.last().epoch);
  crash.node = 1;
  tell(about_node(EventKind::kNodeNotice, 1));
  tell(crash);
  tell(about_node(EventKind::kNodeDown, 1));
  EXPECT_FALSE(failures.nodes.contains(1));
  EXPECT_FALSE(failures.jobs.contains(b));
  tell(about_job(EventKind::kWithdraw, a));
  EXPECT_TRUE(failures.jobs.empty());
}

TEST_F(ControllerTest, ADeviceThatFailsTakesItsJobAndLeavesTheRestOfTheNode) {
  const JobId a = submit(1), b = submit(1);
  start(a, {0});
  answer(executor_.last());
  start(b, {1});
  answer(executor_.last());
  Event down = about_node(EventKind::kNodeDown, 0);
  down.device = 0;
  tell(down);
  EXPECT_EQ(job(a).phase, Phase::kWaiting);
  EXPECT_EQ(job(b).phase, Phase::kPlaced);
  EXPECT_FALSE(controller_.state().ledger.device_in_service(0));
  EXPECT_EQ(controller_.state().ledger.free_whole_total(), 2u) << "the other node's";
  Event up = about_node(EventKind::kNodeUp, 0);
  up.device = 0;
  tell(up);
  EXPECT_TRUE(controller_.state().ledger.device_in_service(0));
}

TEST_F(ControllerTest, ALateNoticeOfLoadDoesNotOverwriteANewerOne) {
  const JobId a = submit(1, WorkloadKind::kService);
  const auto load = [&](std::uint32_t number, double requests_per_s) {
    Event event = about_job(EventKind::kLoad, a);
    event.number = number;
    event.value = requests_per_s;
    tell(event);
    return job(a).load;
  };
  EXPECT_EQ(load(1, 10), 10);
  EXPECT_EQ(load(3, 30), 30);
  EXPECT_EQ(load(2, 20), 30);
  EXPECT_EQ(load(4, 5), 5);
}

TEST_F(ControllerTest, AWithdrawnJobIsStoppedWhereverItStands) {
  const JobId waiting = submit(1), running = submit(1), starting = submit(1);
  start(running, {0});
  answer(executor_.last());
  start(starting, {1});
  const SentCommand pending = executor_.last();
  for (JobId id : {waiting, running, starting}) tell(about_job(EventKind::kWithdraw, id));
  for (JobId id : {waiting, running, starting}) EXPECT_EQ(job(id).phase, Phase::kEnded);
  EXPECT_EQ(controller_.state().ledger.free_whole_total(), 4u);
  EXPECT_EQ(standing(running), Standing::kStopping);
  answer(pending);
  EXPECT_EQ(executor_.last().kind, CommandKind::kStop);
  EXPECT_EQ(executor_.last().job, starting);
}

TEST_F(ControllerTest, ANodeUnderNoticeTakesNoNewWorkButKeepsWhatRuns) {
  const JobId a = submit(2);
  start(a, {0, 1});
  answer(executor_.last());
  tell(about_node(EventKind::kNodeNotice, 0));
  EXPECT_EQ(job(a).phase, Phase::kPlaced);
  EXPECT_FALSE(controller_.state().ledger.available(0));
  tell(about_node(EventKind::kNodeDown, 0));
  EXPECT_EQ(job(a).phase, Phase::kWaiting);
  tell(about_node(EventKind::kNodeUp, 0));
  EXPECT_TRUE(controller_.state().ledger.available(0));
}

TEST_F(ControllerTest, ARejectedJobEnds) {
  const JobId a = submit(1);
  decide([=](Draft& draft) { draft.reject(a, "no room before its deadline"); });
  EXPECT_EQ(job(a).phase, Phase::kEnded);
  EXPECT_EQ(controller_.state().waiting, 0u);
}

using ControllerDeathTest = ControlTest;

TEST_F(ControllerDeathTest, TimeNeverRunsBackwards) {
  now_ = 10;
  submit(1);
  now_ = 9;
  EXPECT_DEATH(submit(1), "backwards");
}

}  // namespace
}  // namespace weft
