#include "policy/allocators/regimes.h"

#include <gtest/gtest.h>

#include "policy/policy_testing.h"

namespace weft {
namespace {

// A job of 100 units of work at rate 2 that reports.
class RegimesTest : public testing::Test {
 protected:
  void adapt(Adaptation adaptation) {
    Configuration c;
    c.rate = 2;
    job_ = small_job(c, 0);
    auto spec = std::make_shared<Submission>(*job_.spec);
    spec->adaptation = adaptation;
    spec->declared_work = 100;
    job_.spec = spec;
    job_.running = true;
    job_.held.devices = {{0}};
    regimes_ = {};
  }
  Seconds report(double work, double rate) {
    job_.reported_work = work;
    job_.observed_rate = 0;  // the work so far, without what comes after the report
    regimes_.observe(job_, 0);
    job_.observed_rate = rate;
    regimes_.observe(job_, 0);
    return regimes_.time_left(job_, 0);
  }

  JobState job_;
  Regimes regimes_;
};

TEST_F(RegimesTest, ANewJobIsForeseenAtItsOwnRate) {
  adapt(Adaptation::kAccordion);
  EXPECT_DOUBLE_EQ(regimes_.time_left(job_, 0), 50);
}

TEST_F(RegimesTest, GradientNoiseDoesNotGoBack) {
  adapt(Adaptation::kNoiseScale);
  EXPECT_DOUBLE_EQ(report(20, 4), 80 / 4.0);
  EXPECT_DOUBLE_EQ(report(60, 8), 40 / 8.0);
}

TEST_F(RegimesTest, AccordionIsForeseenByTheMeanOfThePosterior) {
  adapt(Adaptation::kAccordion);
  EXPECT_DOUBLE_EQ(report(20, 6), 80 / 6.0) << "20 were done at rate 2, none at 6 yet";
  // 20 at rate 2 and 40 at 6. Prior 50 and 50; posterior 70 and 90 of 160: 43.75 and 56.25 of all,
  // so 23.75 and 16.25 are to come, which is the 40 that are left.
  EXPECT_DOUBLE_EQ(report(60, 6), 23.75 / 2 + 16.25 / 6);
  // A crash takes back to 50: the same mix of what is left.
  EXPECT_NEAR(report(50, 6), (23.75 / 2 + 16.25 / 6) * 50 / 40, 1e-9);
}

}  // namespace
}  // namespace weft
