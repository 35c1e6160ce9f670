// The contract of executors, against every one that there is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "tests/live/engine_testing.h"

namespace weft {
namespace {

using live::EngineRun;
using testing::HasSubstr;

struct Kind {
  const char* name;
  std::unique_ptr<EngineWorld> (*make)(ContractController&);
};

class EngineContract : public testing::TestWithParam<Kind> {
 protected:
  EngineContract() : world_(GetParam().make(controller_)) {}

  void ask(const KeptCommand& command) {
    world_->engine().carry_out(command, *controller_.board.at(command.job));
  }
  KeptCommand start(const std::string& uuid, Conduct conduct, std::vector<DeviceId> devices,
                    std::uint32_t epoch = 1) {
    if (!controller_.board.find(uuid)) controller_.submit(uuid, world_->job(conduct));
    const KeptCommand command =
        controller_.command(uuid, CommandKind::kStart, epoch, 2 * epoch - 1, devices);
    ask(command);
    return command;
  }
  KeptCommand stop(const std::string& uuid, std::uint32_t epoch = 1) {
    const KeptCommand command = controller_.command(uuid, CommandKind::kStop, epoch, 2 * epoch);
    ask(command);
    return command;
  }
  // Its start is answered, and its ranks, exec'd by then, have done their first lines.
  bool runs(const std::string& uuid, std::uint32_t epoch = 1) {
    return world_->until([&] {
      const std::size_t ranks = controller_.board.find(uuid)->held.devices.size();
      return controller_.answers(uuid, 2 * epoch - 1, Outcome::kDone) > 0 &&
             world_->begun(uuid, static_cast<int>(epoch)) >= static_cast<int>(ranks);
    });
  }
  // The epoch in which it runs: a start that was interrupted may be refused, if nothing of it is
  // left, and is then asked for with the next epoch, as the controller does.
  std::uint32_t runs_in_the_end(const std::string& uuid, const std::vector<DeviceId>& devices) {
    for (std::uint32_t epoch = 1; epoch <= 3; ++epoch) {
      const std::uint32_t number = 2 * epoch - 1;
      EXPECT_TRUE(world_->until([&] {
        return controller_.answers(uuid, number, Outcome::kDone) +
                   controller_.answers(uuid, number, Outcome::kRefused) >
               0;
      }));
      EXPECT_LE(world_->begun(uuid, static_cast<int>(epoch)), static_cast<int>(devices.size()));
      if (controller_.answers(uuid, number, Outcome::kDone) > 0) {
        EXPECT_TRUE(runs(uuid, epoch));
        return epoch;
      }
      EXPECT_EQ(world_->alive(uuid, static_cast<int>(epoch)), 0);
      start(uuid, Conduct::kStays, devices, epoch + 1);
    }
    ADD_FAILURE() << uuid << " does not come to run";
    return 0;
  }
  bool stopped(const std::string& uuid, std::uint32_t epoch = 1) {
    return world_->until([&] { return controller_.answers(uuid, 2 * epoch, Outcome::kDone) > 0; });
  }
  EngineRun::State listed(const std::string& uuid) {
    for (const EngineRun& run : world_->engine().list(0)) {
      if (run.uuid == uuid) return run.state;
    }
    return EngineRun::State::kGone;
  }

  ContractController controller_;
  std::unique_ptr<EngineWorld> world_;
};

TEST_P(EngineContract, AGangStartsWholeAndItsEndIsTold) {
  start("a", Conduct::kEnds, {0, 2});
  ASSERT_TRUE(runs("a"));
  EXPECT_EQ(world_->begun("a", 1), 2);
  ASSERT_TRUE(world_->until([&] { return !controller_.told("a", EventKind::kFinished).empty(); }));
  EXPECT_EQ(controller_.told("a", EventKind::kFinished)[0].event.epoch, 1u);
  EXPECT_TRUE(controller_.told("a", EventKind::kCrashed).empty());
}

TEST_P(EngineContract, AFailureIsTheJobsOwn) {
  start("a", Conduct::kFails, {1});
  ASSERT_TRUE(world_->until([&] { return !controller_.told("a", EventKind::kCrashed).empty(); }));
  const auto crash = controller_.told("a", EventKind::kCrashed)[0];
  EXPECT_TRUE(live::is_own_failure(crash.event));
  EXPECT_FALSE(crash.why.empty());
}

TEST_P(EngineContract, TheSameCommandIsAnsweredAgainAndNotDoneAgain) {
  const KeptCommand command = start("a", Conduct::kStays, {0, 1});
  ask(command);
  ASSERT_TRUE(runs("a"));
  const int before = controller_.answers("a", 1, Outcome::kDone);
  ask(command);
  EXPECT_TRUE(world_->until([&] { return controller_.answers("a", 1, Outcome::kDone) > before; }));
  EXPECT_EQ(world_->begun("a", 1), 2);
}

TEST_P(EngineContract, AStopIsDoneWhenNothingIsLeft) {
  start("a", Conduct::kIgnoresTerm, {0, 3});
  ASSERT_TRUE(runs("a"));
  EXPECT_EQ(world_->alive("a", 1), 2);
  stop("a");
  ASSERT_TRUE(stopped("a"));
  EXPECT_EQ(world_->alive("a", 1), 0);
  start("a", Conduct::kIgnoresTerm, {1, 2}, 2);
  ASSERT_TRUE(runs("a", 2));
  EXPECT_EQ(world_->alive("a", 2), 2);
  EXPECT_EQ(world_->begun("a", 1), 2);
}

TEST_P(EngineContract, WhatNeverCameIsStopped) {
  controller_.submit("a", world_->job(Conduct::kStays));
  stop("a");
  EXPECT_TRUE(stopped("a"));
  EXPECT_EQ(world_->begun("a", 1), 0);
}

TEST_P(EngineContract, AnAnswerThatIsLostIsAskedForAgain) {
  controller_.submit("a", world_->job(Conduct::kStays));
  const KeptCommand command = controller_.command("a", CommandKind::kStart, 1, 1, {0, 2});
  world_->carry_out_unheard(command, *controller_.board.at(command.job));
  ask(command);
  const int epoch = static_cast<int>(runs_in_the_end("a", {0, 2}));
  EXPECT_EQ(world_->begun("a", epoch), 2) << "it ran once";
  EXPECT_EQ(world_->alive("a", epoch), 2);
}

// Another system forgets what it has just taken and gives its number to the next.
TEST_P(EngineContract, RunsAreFoundByTheirNameNotByTheEnginesNumber) {
  start("a", Conduct::kStays, {0});
  start("b", Conduct::kStays, {1});
  ASSERT_TRUE(runs("a") && runs("b"));
  start("c", Conduct::kStays, {2});
  world_->restart_engine();
  start("d", Conduct::kStays, {3});
  const std::uint32_t epoch = runs_in_the_end("c", {2});
  ASSERT_TRUE(runs("d"));
  stop("c", epoch);
  ASSERT_TRUE(stopped("c", epoch));
  EXPECT_EQ(world_->alive("c", static_cast<int>(epoch)), 0);
  for (const char* other : {"a", "b", "d"}) {
    EXPECT_EQ(world_->alive(other, 1), 1) << other;
    EXPECT_EQ(world_->begun(other, 1), 1) << other;
  }
}

TEST_P(EngineContract, TheNextControllerFindsWhatRuns) {
  start("a", Conduct::kStays, {0, 2});
  ASSERT_TRUE(runs("a"));
  world_->restart_controller();
  ASSERT_TRUE(world_->until([&] { return listed("a") == EngineRun::State::kRunning; }));
  EXPECT_EQ(world_->begun("a", 1), 2);
  stop("a");
  ASSERT_TRUE(stopped("a"));
  EXPECT_EQ(world_->alive("a", 1), 0);
}

TEST_P(EngineContract, ListsWhatChangedSince) {
  start("a", Conduct::kStays, {0});
  start("b", Conduct::kStays, {1});
  ASSERT_TRUE(runs("a") && runs("b"));
  const std::vector<EngineRun> all = world_->engine().list(0);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].state, EngineRun::State::kRunning);
  const std::uint64_t last = all.back().changed;
  EXPECT_TRUE(world_->engine().list(last).empty());
  stop("b");
  ASSERT_TRUE(stopped("b"));
  std::vector<EngineRun> later;
  ASSERT_TRUE(world_->until([&] {
    later = world_->engine().list(last);
    return !later.empty() && later[0].state == EngineRun::State::kGone;
  }));
  EXPECT_EQ(later.size(), 1u);
  EXPECT_EQ(later[0].uuid, "b");
}

TEST_P(EngineContract, ASignalReachesEveryRank) {
  start("a", Conduct::kStays, {0, 2});
  ASSERT_TRUE(runs("a"));
  world_->engine().signal("a", SIGUSR1);
  EXPECT_TRUE(world_->until([&] { return world_->signalled("a", 1) == 2; }));
  EXPECT_EQ(world_->alive("a", 1), 2);
}

TEST_P(EngineContract, DoesWhatItStatesAndRefusesTheRest) {
  const live::EngineStatement& states = world_->engine().statement();
  start("a", Conduct::kStays, {1, 2});
  ASSERT_TRUE(runs("a"));
  if (states.can.device_index) {
    EXPECT_EQ(world_->devices("a", 1), "1 0");
  }
  ask(controller_.command("a", CommandKind::kResize, 1, 5, {1, 2}));
  const Outcome outcome = states.can.resize ? Outcome::kDone : Outcome::kRefused;
  EXPECT_TRUE(world_->until([&] { return controller_.answers("a", 5, outcome) > 0; }));
  EXPECT_EQ(world_->alive("a", 1), 2) << "it goes on";

  live::JobSpec half = world_->job(Conduct::kEnds);
  half.share.percent = 50;
  const Status job = check_needs(half, states);
  EXPECT_EQ(job.ok(), states.can.fraction);
  if (!job.ok()) {
    EXPECT_THAT(job.error().text(), HasSubstr("leave `share` out"));
  }
  const Status policy = check_needs(*find_policy("gandiva"), states);
  EXPECT_EQ(policy.ok(), states.can.fraction && states.can.device_index);
  if (!policy.ok()) {
    EXPECT_THAT(policy.error().text(), HasSubstr("share: none"));
  }
  EXPECT_TRUE(check_needs(*find_policy("backfill"), states).ok());
}

TEST_P(EngineContract, AFrozenRunGoesOnOrIsGoneBeforeTheNextBegins) {
  const live::EngineStatement& states = world_->engine().statement();
  live::JobSpec spec = world_->job(Conduct::kStays);
  spec.checkpoint.preempt = live::Preemption::kFreeze;
  const Status job = check_needs(spec, states);
  ASSERT_EQ(job.ok(), states.can.freeze);
  if (!job.ok()) {
    EXPECT_THAT(job.error().text(), HasSubstr("write `preempt: checkpoint`"));
    return;
  }
  controller_.submit("a", spec);
  start("a", Conduct::kStays, {0, 2});
  ASSERT_TRUE(runs("a"));
  stop("a");
  ASSERT_TRUE(stopped("a"));
  EXPECT_EQ(listed("a"), EngineRun::State::kFrozen);
  EXPECT_EQ(world_->alive("a", 1), 2);
  // Whoever falls over meanwhile.
  world_->restart_engine();
  world_->restart_controller();
  start("a", Conduct::kStays, {0, 2}, 2);
  ASSERT_TRUE(world_->until([&] { return controller_.answers("a", 3, Outcome::kDone) > 0; }));
  EXPECT_EQ(world_->alive("a", 1), 2) << "the ranks of the first epoch are those of the second";
  EXPECT_EQ(world_->begun("a", 2), 0);
  stop("a", 2);
  ASSERT_TRUE(stopped("a", 2));
  EXPECT_EQ(world_->alive("a", 1), 2);
  start("a", Conduct::kStays, {1, 3}, 3);
  ASSERT_TRUE(runs("a", 3));
  EXPECT_EQ(world_->alive("a", 1), 0);
  EXPECT_EQ(world_->alive("a", 3), 2);
  EXPECT_EQ(world_->begun("a", 1), 2);
}

INSTANTIATE_TEST_SUITE_P(Engines, EngineContract,
                         testing::Values(Kind{"local", local_world}, Kind{"queue", queue_world}),
                         [](const auto& each) { return std::string(each.param.name); });

}  // namespace
}  // namespace weft
