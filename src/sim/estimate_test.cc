#include "sim/estimate.h"

#include <gtest/gtest.h>

#include <cmath>

#include "sim/sim_testing.h"

namespace weft {
namespace {

TEST(Estimates, ParseAndPrintAlike) {
  for (const char* text : {"oracle", "user", "history", "noisy:0.5"}) {
    auto mode = parse_estimates(text);
    ASSERT_TRUE(mode.ok()) << text;
    EXPECT_EQ(mode->text(), text);
  }
  for (const char* text : {"", "crystal", "noisy", "noisy:", "noisy:x", "noisy:-1", "noisy:11"}) {
    auto mode = parse_estimates(text);
    ASSERT_FALSE(mode.ok()) << text;
    EXPECT_NE(mode.error().what.find("noisy:SIGMA"), std::string::npos);
  }
}

TEST(Estimates, WhoSaysWhat) {
  JobRow row{0, 2, 600};
  row.estimate = 900;
  row.edit = [](Submission&, Menu& menu, Truth&) { menu.configurations.front().rate = 3; };
  const Trace trace = testing_trace({row});
  using Kind = EstimateMode::Kind;
  const Estimate oracle = Estimator({Kind::kOracle, 0}, 1).of(trace.jobs[0]);
  EXPECT_EQ(oracle.duration, 200) << "600 units at 3 a second";
  EXPECT_EQ(oracle.source, EstimateSource::kOracle);
  EXPECT_EQ(Estimator({Kind::kUser, 0}, 1).of(trace.jobs[0]).duration, 900);
  EXPECT_FALSE(Estimator({Kind::kHistory, 0}, 1).of(trace.jobs[0]).known());
}

TEST(Estimates, UsersComeBeforeTheTruth) {
  using Kind = EstimateMode::Kind;
  Trace trace = testing_trace({{0, 1, 100}, {1, 1, 100}});
  for (TraceJob& job : trace.jobs) job.truth.user_estimate = std::nan("");
  EXPECT_EQ(default_estimates(trace).kind, Kind::kOracle) << "nobody said anything";
  EXPECT_EQ(default_estimates(Trace{}).kind, Kind::kOracle) << "there is nobody";
  trace.jobs[1].truth.user_estimate = 60;
  EXPECT_EQ(default_estimates(trace).kind, Kind::kUser) << "one user said something";
}

TEST(Estimates, NoiseIsLogNormalAndSeeded) {
  const Trace trace = testing_trace({{0, 1, 100}});
  const EstimateMode mode{EstimateMode::Kind::kNoisy, 0.5};
  Estimator one(mode, 3), two(mode, 3);
  double sum = 0, squares = 0;
  constexpr int kDraws = 20'000;
  for (int i = 0; i < kDraws; ++i) {
    const double log_factor = std::log(one.of(trace.jobs[0]).duration / 100);
    EXPECT_EQ(std::log(two.of(trace.jobs[0]).duration / 100), log_factor);
    sum += log_factor;
    squares += log_factor * log_factor;
  }
  EXPECT_NEAR(sum / kDraws, 0, 0.02);
  EXPECT_NEAR(std::sqrt(squares / kDraws), 0.5, 0.02);
}

}  // namespace
}  // namespace weft
