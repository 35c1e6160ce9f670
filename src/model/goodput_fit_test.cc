#include "model/goodput_fit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "base/random.h"

namespace weft {
namespace {

StepTimeModel random_model(Random& random) {
  const auto spread = [&](double low, double high) {
    return low * std::pow(high / low, random.uniform());
  };
  const double inside = spread(0.005, 0.2);
  return {spread(0.01, 0.3),
          spread(1e-4, 0.02),
          inside * random.uniform(1, 8),
          inside * random.uniform(0.01, 0.1),
          inside,
          inside * random.uniform(0.01, 0.2),
          random.uniform(1, 3)};
}

std::vector<Observation> observe(const StepTimeModel& model, const std::vector<Gang>& gangs,
                                 const std::vector<double>& batches, double noise, Random& random) {
  std::vector<Observation> seen;
  for (const Gang gang : gangs)
    for (const double batch : batches) {
      StepTime time = predict(model, gang, batch);
      time.compute_s *= std::exp(noise * random.normal());
      time.step_s *= std::exp(noise * random.normal());
      seen.push_back({gang, batch, time});
    }
  return seen;
}

// Root mean square of log(predicted / true) step times.
double error_of(const StepTimeModel& fitted, const StepTimeModel& truth,
                const std::vector<Gang>& gangs, const std::vector<double>& batches) {
  double sum = 0;
  for (const Gang gang : gangs)
    for (const double batch : batches)
      sum += std::pow(
          std::log(predict(fitted, gang, batch).step_s / predict(truth, gang, batch).step_s), 2);
  return std::sqrt(sum / static_cast<double>(gangs.size() * batches.size()));
}

const std::vector<Gang> kGangs = {{1, 1}, {1, 2}, {1, 4}, {2, 8}, {3, 12}, {4, 16}};
const std::vector<double> kBatches = {8, 16, 32, 64, 128};

TEST(FitStepTime, FindsTheModelThatMadeTheTimes) {
  double sum = 0, worst = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Random random(seed);
    const StepTimeModel truth = random_model(random);
    const StepTimeModel fitted = fit_step_time(observe(truth, kGangs, kBatches, 0, random));
    const double error = error_of(fitted, truth, kGangs, kBatches);
    sum += error;
    worst = std::max(worst, error);
  }
  EXPECT_LT(sum / 200, 0.01);
  EXPECT_LT(worst, 0.03);
}

TEST(FitStepTime, AveragesNoiseOut) {
  double sum = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    Random random(seed);
    const StepTimeModel truth = random_model(random);
    const StepTimeModel fitted = fit_step_time(observe(truth, kGangs, kBatches, 0.1, random));
    sum += error_of(fitted, truth, kGangs, kBatches);
  }
  EXPECT_LT(sum / 100, 0.05) << "with 10 % of noise on every observation";
}

TEST(FitStepTime, PredictsALargerGangThanItHasSeen) {
  double sum = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    Random random(seed);
    const StepTimeModel truth = random_model(random);
    const std::vector<Gang> small = {{1, 1}, {1, 2}, {1, 4}, {2, 8}, {3, 12}};
    const StepTimeModel fitted = fit_step_time(observe(truth, small, kBatches, 0, random));
    sum += error_of(fitted, truth, {{6, 24}, {8, 32}}, kBatches);
  }
  EXPECT_LT(sum / 100, 0.05);
}

TEST(FitStepTime, IsHopefulAboutWhatItHasNotSeen) {
  Random random(1);
  const StepTimeModel truth{0.1, 0.01, 0.8, 0.02, 0.05, 0.01, 1.5};

  const StepTimeModel alone = fit_step_time(observe(truth, {{1, 1}}, {32}, 0, random));
  EXPECT_NEAR(predict(alone, {1, 1}, 32).step_s, 0.42, 1e-3);
  EXPECT_NEAR(alone.compute_alpha, 0.21, 1e-3) << "one batch size: half is taken as constant";
  EXPECT_NEAR(predict(alone, {4, 16}, 32).step_s, 0.42, 1e-3) << "exchange is taken as free";

  const StepTimeModel inside =
      fit_step_time(observe(truth, {{1, 1}, {1, 2}, {1, 4}}, kBatches, 0, random));
  EXPECT_GE(inside.between_alpha, inside.inside_alpha) << "nodes are no closer than devices";
  EXPECT_LT(predict(inside, {2, 8}, 32).step_s, predict(truth, {2, 8}, 32).step_s);

  const StepTimeModel pair = fit_step_time(observe(truth, {{1, 1}, {1, 2}}, kBatches, 0, random));
  EXPECT_NEAR(predict(pair, {1, 4}, 32).step_s, predict(pair, {1, 2}, 32).step_s, 1e-6)
      << "growth needs more than two replicas to be seen";
}

TEST(FitStepTime, StaysFiniteOnOddTimes) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    std::vector<Observation> seen(1 + random.below(12));
    for (Observation& o : seen) {
      o.gang.nodes = static_cast<int>(1 + random.below(3));
      o.gang.replicas = o.gang.nodes * static_cast<int>(1 + random.below(4));
      o.local_batch = static_cast<double>(1 + random.below(1000));
      o.time.compute_s = std::exp(random.uniform(-12, 6));
      o.time.step_s = std::exp(random.uniform(-12, 6));
    }
    const StepTimeModel model = fit_step_time(seen);
    EXPECT_GE(model.overlap, 1);
    EXPECT_LE(model.overlap, 10);
    for (const Observation& o : seen) {
      const StepTime time = predict(model, o.gang, o.local_batch);
      EXPECT_TRUE(std::isfinite(time.step_s) && time.compute_s > 0 && time.step_s > 0);
    }
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace weft
