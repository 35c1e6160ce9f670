// Commands are requests: what happens when their outcomes are bad, late, doubled or missing.
#include <gtest/gtest.h>

#include "control/control_testing.h"

namespace weft {
namespace {

using DispatchTest = ControlTest;

TEST_F(DispatchTest, AStartIsPendingUntilItsOutcome) {
  const JobId a = submit(2);
  start(a, {0, 1});
  ASSERT_EQ(sent(), 1u);
  EXPECT_EQ(executor_.last().kind, CommandKind::kStart);
  EXPECT_EQ(executor_.last().devices, (std::vector<DeviceId>{0, 1}));
  EXPECT_EQ(executor_.last().epoch, 1u);
  EXPECT_EQ(executor_.last().number, 1u);
  EXPECT_EQ(standing(a), Standing::kStarting);
  EXPECT_EQ(job(a).phase, Phase::kPlaced);
  EXPECT_FALSE(job(a).running);
  now_ = 3;
  answer(executor_.last());
  EXPECT_TRUE(job(a).running);
  EXPECT_EQ(job(a).running_since, 3);
  EXPECT_EQ(job(a).attained_device_s(13), 20) << "service counts from the outcome on";
}

TEST_F(DispatchTest, ARefusedStartGivesTheDevicesBackAndHoldsTheJobBack) {
  const JobId a = submit(2);
  Seconds waits = 1;
  for (std::uint32_t times = 1; times <= 9; ++times, waits = std::min(2 * waits, 64.0)) {
    start(a, {0, 1});
    EXPECT_EQ(executor_.last().epoch, times);
    answer(executor_.last(), Outcome::kRefused);
    EXPECT_EQ(job(a).phase, Phase::kWaiting);
    EXPECT_EQ(job(a).held_back_until, now_ + waits);
    EXPECT_EQ(controller_.state().ledger.free_whole_total(), 4u);
    EXPECT_EQ(standing(a), Standing::kIdle);
    controller_.decide(now_);
    EXPECT_EQ(policy_.changes.back().returned, std::vector<JobId>{a});
    now_ += waits;
  }
  start(a, {2, 3});
  answer(executor_.last());
  stop(a);
  answer(executor_.last());
  EXPECT_EQ(job(a).setbacks, 0) << "a run that is stopped ends the row";
}

TEST_F(DispatchTest, ALostOutcomeIsAskedForAgainUnderTheSameNumber) {
  const JobId a = submit(1);
  start(a, {0});
  const SentCommand first = executor_.last();
  EXPECT_EQ(controller_.next_wake(), first.deadline);
  wait();
  ASSERT_EQ(sent(), 2u);
  EXPECT_EQ(executor_.last().number, first.number);
  EXPECT_EQ(executor_.last().epoch, first.epoch);
  EXPECT_EQ(executor_.last().devices, first.devices);
  EXPECT_EQ(executor_.last().deadline, 2 * first.deadline);
  answer(first);
  EXPECT_TRUE(job(a).running);
  EXPECT_EQ(controller_.next_wake(), kNever) << "nothing is pending any more";
}

TEST_F(DispatchTest, LateAndDoubledOutcomesChangeNothing) {
  const JobId a = submit(1);
  start(a, {0});
  const SentCommand started = executor_.last();
  answer(started);
  answer(started);
  stop(a);
  const SentCommand stopping = executor_.last();
  answer(started);
  answer(started, Outcome::kRefused);
  EXPECT_EQ(standing(a), Standing::kStopping);
  answer(stopping);
  EXPECT_EQ(standing(a), Standing::kIdle);
  EXPECT_EQ(job(a).restarts, 1);
  start(a, {1});
  answer(started);
  answer(stopping);
  tell(about_job(EventKind::kCrashed, a, started.epoch));
  finish(started);
  EXPECT_EQ(standing(a), Standing::kStarting) << "all of that was about an earlier run";
  EXPECT_EQ(job(a).phase, Phase::kPlaced);
}

TEST_F(DispatchTest, DevicesOfAPendingStopAreNotFree) {
  const JobId a = submit(2), b = submit(2);
  start(a, {0, 1});
  answer(executor_.last());
  decide([=](Draft& draft) {
    draft.stop(a);
    draft.start(b, whole_devices({0, 1}));
  });
  ASSERT_EQ(sent(), 2u) << "the start of b waits";
  const SentCommand stopping = executor_.last();
  EXPECT_EQ(stopping.kind, CommandKind::kStop);
  now_ = 5;
  answer(stopping);
  ASSERT_EQ(sent(), 3u);
  EXPECT_EQ(executor_.last().kind, CommandKind::kStart);
  EXPECT_EQ(executor_.last().job, b);
}

TEST_F(DispatchTest, ProcessorsOfAPendingStopAreNotFree) {
  cluster_.nodes[0].cpu_milli = 6000;
  const JobId a = submit(1), b = submit(1);
  Allocation first = whole_devices({0}), second = whole_devices({1});
  first.hosts = second.hosts = {{.node = 0, .cpu_milli = 4000}};
  decide([=](Draft& draft) { draft.start(a, first); });
  answer(executor_.last());
  decide([=](Draft& draft) {
    draft.stop(a);
    draft.start(b, second);
  });
  ASSERT_EQ(sent(), 2u) << "another device is free, but not the processors beside it";
  answer(executor_.last());
  ASSERT_EQ(sent(), 3u);
  EXPECT_EQ(executor_.last().job, b);
}

TEST_F(DispatchTest, ARefusedStopIsAskedAnewUnderANewNumber) {
  const JobId a = submit(2), b = submit(2);
  start(a, {0, 1});
  answer(executor_.last());
  decide([=](Draft& draft) {
    draft.stop(a);
    draft.start(b, whole_devices({0, 1}));
  });
  const SentCommand refused = executor_.last();
  answer(refused, Outcome::kRefused);
  EXPECT_EQ(sent(), 2u) << "not at once";
  wait();
  ASSERT_EQ(sent(), 3u);
  EXPECT_EQ(executor_.last().kind, CommandKind::kStop);
  EXPECT_GT(executor_.last().number, refused.number);
  answer(executor_.last());
  EXPECT_EQ(executor_.last().job, b);
}

TEST_F(DispatchTest, ARefusedStopIsForgottenWhenTheJobIsWantedAgain) {
  const JobId a = submit(2);
  start(a, {0, 1});
  answer(executor_.last());
  stop(a);
  answer(executor_.last(), Outcome::kRefused);
  start(a, {0, 1});
  wait();
  EXPECT_EQ(sent(), 2u);
  EXPECT_EQ(standing(a), Standing::kRunning);
}

TEST_F(DispatchTest, AShrinkingServiceKeepsItsDevicesUntilItIsConfirmed) {
  const JobId service = submit(1, WorkloadKind::kService), b = submit(1);
  decide([=](Draft& draft) { draft.start(service, whole_devices({0, 1}, 2)); });
  answer(executor_.last());
  decide([=](Draft& draft) {
    draft.move(service, whole_devices({0}));
    draft.start(b, whole_devices({1}));
  });
  ASSERT_EQ(sent(), 2u) << "b waits for device 1";
  EXPECT_EQ(executor_.last().kind, CommandKind::kResize);
  EXPECT_EQ(executor_.last().devices, std::vector<DeviceId>{0});
  answer(executor_.last());
  ASSERT_EQ(sent(), 3u);
  EXPECT_EQ(executor_.last().job, b);
  EXPECT_EQ(job(service).devices_running, 1);
}

TEST_F(DispatchTest, ARefusedResizeLeavesTheServiceAsItWasAndIsAskedAnew) {
  const JobId service = submit(1, WorkloadKind::kService);
  decide([=](Draft& draft) { draft.start(service, whole_devices({0})); });
  answer(executor_.last());
  decide([=](Draft& draft) { draft.move(service, whole_devices({0, 2}, 2)); });
  const SentCommand refused = executor_.last();
  answer(refused, Outcome::kRefused);
  wait();
  ASSERT_EQ(sent(), 3u);
  EXPECT_EQ(executor_.last().devices, (std::vector<DeviceId>{0, 2}));
  EXPECT_GT(executor_.last().number, refused.number);
  answer(executor_.last());
  EXPECT_EQ(job(service).devices_running, 2);
}

TEST_F(DispatchTest, ANodeThatDiesUnderAPendingStart) {
  const JobId a = submit(2);
  start(a, {0, 1});
  const SentCommand started = executor_.last();
  tell(about_node(EventKind::kNodeDown, 0));
  EXPECT_EQ(job(a).phase, Phase::kWaiting);
  EXPECT_EQ(standing(a), Standing::kStarting) << "the start may yet happen";
  EXPECT_EQ(controller_.state().ledger.free_whole_total(), 2u);
  start(a, {2, 3});
  EXPECT_EQ(sent(), 1u) << "no second command before the first has its outcome";
  answer(started, Outcome::kRefused);
  // The refusal was of the old wish; the new one goes back to the queue with it.
  EXPECT_EQ(standing(a), Standing::kIdle);
  EXPECT_EQ(job(a).phase, Phase::kWaiting);
  EXPECT_EQ(job(a).held_back_until, 1);
}

TEST_F(DispatchTest, AStartThatComesTrueAfterItsNodeWasDeclaredDeadIsStopped) {
  const JobId a = submit(2);
  start(a, {0, 1});
  tell(about_node(EventKind::kNodeDown, 0));
  answer(executor_.last());
  EXPECT_EQ(executor_.last().kind, CommandKind::kStop);
  EXPECT_EQ(standing(a), Standing::kStopping);
}

}  // namespace
}  // namespace weft
