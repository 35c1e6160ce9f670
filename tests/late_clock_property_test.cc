// A real clock is never on time: ticks come a little after they were asked for. Every policy must
// decide nevertheless; one that waits for a round number would wait for ever.
#include <gtest/gtest.h>

#include "control/controller.h"
#include "sim/random_case_testing.h"

namespace weft {
namespace {

constexpr Seconds kLate = 0.0007;

struct Starts : Executor {
  void execute(const Command& command) override { count += command.kind == CommandKind::kStart; }
  int count = 0;
};

class LateClock : public testing::TestWithParam<std::string> {};

TEST_P(LateClock, JobsStartAllTheSame) {
  const std::unique_ptr<Policy> policy = testing_policy(GetParam());
  const Cluster cluster = *parse_cluster_shorthand("2x4");
  Starts starts;
  Controller controller(cluster, *policy, starts, {}, nullptr);
  auto submission = std::make_shared<Submission>();
  submission->name = "job";
  submission->estimate = {100, EstimateSource::kUser};
  submission->submit = 0.3;
  submission->menu = std::make_shared<const Menu>(Menu{{Configuration{}}});
  Event event;
  event.kind = EventKind::kSubmit;
  event.at = 0.3;
  event.submission = submission;
  controller.handle(event);
  controller.decide(event.at);
  for (int i = 0; i < 100 && starts.count == 0; ++i) {
    const Seconds wake = controller.next_wake();
    ASSERT_LT(wake, kNever) << "it waits for nothing";
    Event tick;
    tick.kind = EventKind::kTick;
    tick.at = wake + kLate;
    controller.handle(tick);
    controller.decide(tick.at);
  }
  EXPECT_EQ(starts.count, 1);
}

INSTANTIATE_TEST_SUITE_P(EveryPolicy, LateClock, testing::ValuesIn(policy_names()),
                         policy_test_name);

}  // namespace
}  // namespace weft
