#include "control/decision.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "control/control_testing.h"

namespace weft {
namespace {

using testing::HasSubstr;
using DecisionTest = ControlTest;

TEST_F(DecisionTest, ARecordedOneDoesWhatThePolicyDid) {
  const JobId a = submit(2), b = submit(1), c = submit(1);
  Decision decision;
  decision.held = {{b, whole_devices({3})}, {a, whole_devices({0, 1})}};
  decision.rejected = {{c, "too late"}};
  decision.wake = 70;
  ASSERT_TRUE(controller_.fold(now_, decision).ok());
  ASSERT_EQ(executor_.sent.size(), 2u);
  EXPECT_EQ(executor_.sent[0].job, b);
  EXPECT_EQ(executor_.sent[1].devices, (std::vector<DeviceId>{0, 1}));
  EXPECT_EQ(job(c).phase, Phase::kEnded);
  EXPECT_EQ(controller_.next_wake(), std::min(70.0, executor_.sent[0].deadline));
  EXPECT_TRUE(policy_.changes.empty()) << "no policy was called";
}

TEST_F(DecisionTest, JobsMayChangePlaces) {
  const JobId a = submit(1), b = submit(1);
  start(a, {0});
  answer(executor_.last());
  start(b, {1});
  answer(executor_.last());
  Decision decision;
  decision.held = {{a, whole_devices({1})}, {b, whole_devices({0})}};
  ASSERT_TRUE(controller_.fold(now_, decision).ok());
  EXPECT_EQ(job(a).held, whole_devices({1}));
  EXPECT_EQ(job(b).held, whole_devices({0}));
}

TEST_F(DecisionTest, OneOfAnotherStateIsRefused) {
  const JobId a = submit(1), b = submit(1), gone = submit(1);
  start(a, {0});
  Event withdraw = about_job(EventKind::kWithdraw, gone);
  withdraw.at = now_;
  controller_.handle(withdraw);
  Allocation no_such_configuration = whole_devices({2});
  no_such_configuration.configuration = 7;
  for (const auto& [decision, says] : std::vector<std::pair<Decision, std::string>>{
           {{{{99, whole_devices({2})}}, {}, kNever}, "unknown job 99"},
           {{{{gone, whole_devices({2})}}, {}, kNever}, "ended job 2"},
           {{{{b, whole_devices({0})}}, {}, kNever}, "not free to job 1"},
           {{{{b, whole_devices({100'000})}}, {}, kNever}, "has not got to job 1"},
           {{{{b, no_such_configuration}}, {}, kNever}, "not on the menu of job 1"},
           {{{}, {{a, "why"}}, kNever}, "does not wait, job 0"}}) {
    const Status status = controller_.fold(now_, decision);
    ASSERT_FALSE(status.ok());
    EXPECT_THAT(status.error().what, HasSubstr(says));
  }
}

TEST_F(DecisionTest, ANewPolicyIsToldOfEveryJobThatHasNotEnded) {
  const JobId a = submit(1), b = submit(1), gone = submit(1);
  start(a, {0});
  Event withdraw = about_job(EventKind::kWithdraw, gone);
  withdraw.at = now_;
  controller_.handle(withdraw);
  const ObedientPolicy next;
  controller_.take_policy(next);
  controller_.decide(now_);
  ASSERT_EQ(next.changes.size(), 1u);
  EXPECT_EQ(next.changes[0].arrived, (std::vector<JobId>{a, b}));
  EXPECT_TRUE(next.changes[0].ended.empty());
  EXPECT_EQ(job(a).phase, Phase::kPlaced);
}

TEST_F(DecisionTest, AnImageThatIsBrokenIsRefused) {
  const JobId a = submit(2);
  start(a, {0, 1});
  submit(1);
  const std::string image = controller_.image();
  for (std::size_t n = 0; n < image.size(); ++n) {
    Controller cut(cluster_, policy_, executor_, {});
    EXPECT_FALSE(cut.restore(std::string_view(image).substr(0, n)).ok()) << n;
  }
  Controller other(cluster_, policy_, executor_, {});
  EXPECT_FALSE(other.restore(image + "x").ok());
  // One byte changed may be another image, but never crashes.
  for (std::size_t i = 0; i < image.size(); ++i) {
    std::string changed = image;
    changed[i] = static_cast<char>(changed[i] ^ 0x41);
    Controller tried(cluster_, policy_, executor_, {});
    static_cast<void>(tried.restore(changed));
  }
}

}  // namespace
}  // namespace weft
