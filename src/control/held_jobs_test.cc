// Jobs that the policy does not see yet, or must not start again yet, and nodes that are closed.
#include <gmock/gmock.h>

#include "control/control_testing.h"

namespace weft {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class HeldJobsTest : public ControlTest {
 protected:
  JobId submit_held(std::uint32_t devices) {
    auto submission = std::make_shared<Submission>();
    auto menu = std::make_shared<Menu>();
    menu->configurations.emplace_back().devices = devices;
    submission->menu = menu;
    Event event;
    event.kind = EventKind::kSubmit;
    event.at = now_;
    event.value2 = kNever;
    event.submission = submission;
    return controller_.handle(event);
  }
  Event hold_back(const SentCommand& start, Seconds until, NodeId node = kNoNode) {
    Event event = about_job(EventKind::kHoldBack, start.job, start.epoch);
    event.value = until;
    event.node = node;
    return event;
  }
  Event close(NodeId node, std::uint32_t number, Seconds from, Seconds until,
              std::uint32_t tenant_plus_one = 0) {
    Event event = about_node(EventKind::kClose, node);
    event.number = number;
    event.value = from;
    event.value2 = until;
    event.epoch = tenant_plus_one;
    return event;
  }
};

TEST_F(HeldJobsTest, ThePolicyHearsOfAHeldJobWhenItIsReleased) {
  const JobId held = submit_held(1);
  const JobId other = submit(1);
  decide(nullptr);
  EXPECT_THAT(policy_.changes.back().arrived, ElementsAre(other));
  EXPECT_THAT(controller_.state().active, ElementsAre(other));
  EXPECT_EQ(controller_.state().waiting, 1u);
  tell(about_job(EventKind::kRelease, held));
  tell(about_job(EventKind::kRelease, held));
  decide(nullptr);
  EXPECT_THAT(policy_.changes.back().arrived, ElementsAre(held)) << "once";
  EXPECT_THAT(controller_.state().active, ElementsAre(held, other)) << "ascending";
  start(held, {0});
  answer(executor_.last());
  tell(about_job(EventKind::kRelease, held));
  EXPECT_EQ(job(held).phase, Phase::kPlaced);
}

TEST_F(HeldJobsTest, AHeldJobThatIsTakenBackNeverArrives) {
  const JobId held = submit_held(1);
  tell(about_job(EventKind::kWithdraw, held));
  tell(about_job(EventKind::kRelease, held));
  decide(nullptr);
  EXPECT_EQ(job(held).phase, Phase::kEnded);
  EXPECT_THAT(policy_.changes.back().arrived, IsEmpty());
  EXPECT_THAT(policy_.changes.back().ended, IsEmpty()) << "it never heard of it";
  EXPECT_EQ(controller_.state().waiting, 0u);
}

TEST_F(HeldJobsTest, AnotherPolicyIsNotToldOfHeldJobs) {
  submit_held(1);
  controller_.take_policy(policy_);
  controller_.decide(now_);
  EXPECT_THAT(policy_.changes.back().arrived, IsEmpty());
}

TEST_F(HeldJobsTest, ACrashedJobWaitsAsLongAsItsExecutorAsked) {
  const JobId id = submit(1);
  start(id, {2});
  const SentCommand run = executor_.last();
  answer(run);
  now_ = 5;
  tell(hold_back(run, 42, 1));
  EXPECT_EQ(job(id).phase, Phase::kPlaced) << "what runs goes on";
  tell(about_job(EventKind::kCrashed, id, run.epoch));
  EXPECT_EQ(job(id).held_back_until, 42);
  EXPECT_THAT(controller_.state().failures.shunned.at(id), ElementsAre(1u));
  tell(hold_back(run, 99));
  start(id, {0});
  answer(executor_.last());
  tell(about_job(EventKind::kCrashed, id, executor_.last().epoch));
  EXPECT_LT(job(id).held_back_until, 42) << "only once, and not by word of a run before";
}

TEST_F(HeldJobsTest, AnEvictedJobIsStoppedAndWaits) {
  const JobId id = submit(1);
  start(id, {0});
  answer(executor_.last());
  tell(about_job(EventKind::kEvict, id));
  EXPECT_EQ(executor_.last().kind, CommandKind::kStop);
  EXPECT_EQ(job(id).phase, Phase::kWaiting);
  answer(executor_.last());
  EXPECT_EQ(job(id).held_back_until, 0) << "no fault of its own";
  const std::size_t before = sent();
  tell(about_job(EventKind::kEvict, id));
  EXPECT_EQ(sent(), before);
}

TEST_F(HeldJobsTest, AServiceKeepsTheReplicasThatAreLeft) {
  const JobId id = submit(1, WorkloadKind::kService);
  decide([=](Draft& draft) { draft.start(id, whole_devices({0, 1, 2}, 3)); });
  const SentCommand run = executor_.last();
  answer(run);
  const std::size_t before = sent();
  Event lost = about_job(EventKind::kLost, id, run.epoch);
  lost.node = 0;
  tell(lost);
  EXPECT_EQ(job(id).held.devices.size(), 1u);
  EXPECT_EQ(job(id).held.replicas, 1u);
  EXPECT_EQ(controller_.dispatch().pursuit(id).used, job(id).held);
  EXPECT_EQ(sent(), before) << "nothing is asked of what still runs";
  controller_.decide(now_);
  EXPECT_THAT(policy_.changes.back().loads, ElementsAre(id)) << "so that it grows again";
  lost.node = 1;
  tell(lost);
  EXPECT_EQ(job(id).phase, Phase::kWaiting) << "the last is gone";
  EXPECT_EQ(standing(id), Standing::kIdle);
  EXPECT_EQ(sent(), before);
}

TEST_F(HeldJobsTest, AServiceThatLosesReplicasWhileItIsResizedBeginsAnew) {
  const JobId id = submit(1, WorkloadKind::kService);
  decide([=](Draft& draft) { draft.start(id, whole_devices({0, 2}, 2)); });
  const SentCommand run = executor_.last();
  answer(run);
  decide([=](Draft& draft) { draft.move(id, whole_devices({0, 2, 3}, 3)); });
  const SentCommand resize = executor_.last();
  EXPECT_EQ(resize.kind, CommandKind::kResize);
  Event lost = about_job(EventKind::kLost, id, run.epoch);
  lost.node = 0;
  tell(lost);
  EXPECT_EQ(standing(id), Standing::kResizing) << "nothing is free before the world has said so";
  answer(resize);
  EXPECT_EQ(executor_.last().kind, CommandKind::kStop);
}

TEST_F(HeldJobsTest, AClosedNodeIsForThoseWhoEndBefore) {
  tell(close(1, 7, 100, 200, 4));
  const JobId endless = submit(1);
  auto spec = std::make_shared<Submission>(*job(endless).spec);
  struct Row {
    const char* says;
    Seconds now, length;
    TenantId tenant;
    bool preemptible, may;
  };
  const Row rows[] = {
      {"ends in time", 50, 50, 0, true, true},
      {"would not", 50, 51, 0, true, false},
      {"says nothing and may be stopped", 50, kNever, 0, true, true},
      {"says nothing and may not be stopped", 50, kNever, 0, false, false},
      {"of the tenant it is for", 50, 5000, 3, false, true},
      {"closed", 150, 10, 0, true, false},
      {"closed, but not for this tenant", 150, 10, 3, true, true},
      {"open again", 200, 5000, 0, false, true},
  };
  for (const Row& row : rows) {
    State state(cluster_);
    state.closures = controller_.state().closures;
    state.now = row.now;
    spec->tenant = row.tenant;
    spec->preemptible = row.preemptible;
    JobState one;
    one.spec = spec;
    if (row.length < kNever) one.estimate = {row.length, EstimateSource::kUser};
    EXPECT_EQ(state.may_begin_on(1, one), row.may) << row.says;
    EXPECT_TRUE(state.may_begin_on(0, one)) << row.says;
  }
  EXPECT_EQ(controller_.next_wake(), 100);
  controller_.decide(now_);
  wait();
  controller_.decide(now_);
  EXPECT_TRUE(policy_.changes.back().nodes);
  EXPECT_EQ(controller_.next_wake(), 200);
  tell(close(1, 7, 0, 0));
  EXPECT_THAT(controller_.state().closures, IsEmpty());
}

TEST_F(HeldJobsTest, AJobThatWaitsCanBeHeldAgain) {
  const JobId id = submit(1);
  decide(nullptr);
  tell(about_job(EventKind::kHold, id));
  tell(about_job(EventKind::kHold, id));
  EXPECT_EQ(job(id).phase, Phase::kHeld);
  EXPECT_THAT(controller_.state().active, IsEmpty());
  EXPECT_EQ(controller_.state().waiting, 0u);
  decide(nullptr);
  EXPECT_THAT(policy_.changes.back().ended, ElementsAre(id)) << "as if it had ended";
  tell(about_job(EventKind::kRelease, id));
  decide(nullptr);
  EXPECT_THAT(policy_.changes.back().arrived, ElementsAre(id));
  EXPECT_EQ(controller_.state().waiting, 1u);
}

TEST_F(HeldJobsTest, WhatHappensBetweenTwoDecisionsIsNoNews) {
  const JobId id = submit(1);
  tell(about_job(EventKind::kHold, id));
  decide(nullptr);
  EXPECT_THAT(policy_.changes.back().arrived, IsEmpty());
  EXPECT_THAT(policy_.changes.back().ended, IsEmpty()) << "it never heard of it";
  tell(about_job(EventKind::kRelease, id));
  decide(nullptr);
  tell(about_job(EventKind::kHold, id));
  tell(about_job(EventKind::kRelease, id));
  decide(nullptr);
  EXPECT_THAT(policy_.changes.back().arrived, IsEmpty());
  EXPECT_THAT(policy_.changes.back().ended, IsEmpty()) << "it was there all the time";
}

TEST_F(HeldJobsTest, WhatRunsGoesOnUnlessItIsToStop) {
  const JobId id = submit(1);
  start(id, {0});
  answer(executor_.last());
  Event hold = about_job(EventKind::kHold, id);
  const std::size_t before = sent();
  tell(hold);
  EXPECT_EQ(job(id).phase, Phase::kPlaced);
  EXPECT_EQ(sent(), before);
  hold.value = 1;
  tell(hold);
  EXPECT_EQ(executor_.last().kind, CommandKind::kStop);
  EXPECT_EQ(job(id).phase, Phase::kHeld);
  EXPECT_EQ(controller_.state().placed, 0u);
  Controller other(cluster_, policy_, executor_, ControllerOptions{});
  ASSERT_TRUE(other.restore(controller_.image()).ok());
  EXPECT_EQ(other.image(), controller_.image());
  answer(executor_.last());
  EXPECT_EQ(standing(id), Standing::kIdle);
  tell(about_job(EventKind::kRelease, id));
  start(id, {1});
  EXPECT_EQ(executor_.last().kind, CommandKind::kStart);
  EXPECT_EQ(executor_.last().epoch, 2u);
}

TEST_F(HeldJobsTest, AHeldJobThatEndsMeanwhileIsOver) {
  const JobId id = submit(1);
  start(id, {0});
  const SentCommand run = executor_.last();
  answer(run);
  Event hold = about_job(EventKind::kHold, id);
  hold.value = 1;
  tell(hold);
  decide(nullptr);
  finish(run);
  EXPECT_EQ(job(id).phase, Phase::kEnded);
  EXPECT_EQ(controller_.state().placed, 0u);
  EXPECT_EQ(controller_.state().waiting, 0u);
  decide(nullptr);
  EXPECT_THAT(policy_.changes.back().ended, IsEmpty()) << "once is enough";
}

TEST_F(HeldJobsTest, AnImageKnowsOfAllOfIt) {
  const JobId held = submit_held(1);
  const JobId id = submit(1);
  start(id, {0});
  answer(executor_.last());
  tell(hold_back(executor_.last(), 42, 0));
  tell(close(1, 7, 100, 200));
  Controller other(cluster_, policy_, executor_, ControllerOptions{});
  ASSERT_TRUE(other.restore(controller_.image()).ok());
  EXPECT_EQ(other.state().job(held).phase, Phase::kHeld);
  EXPECT_THAT(other.state().active, ElementsAre(id));
  EXPECT_THAT(other.state().failures.shunned.at(id), ElementsAre(0u));
  ASSERT_EQ(other.state().closures.size(), 1u);
  EXPECT_EQ(other.state().closures[0].until, 200);
  EXPECT_EQ(other.image(), controller_.image());
}

}  // namespace
}  // namespace weft
