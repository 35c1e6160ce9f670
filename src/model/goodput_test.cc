#include "model/goodput.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "base/random.h"

namespace weft {
namespace {

using Placement = std::vector<int>;

TEST(StepTimeModel, AddsComputeAndExchangeByTheirOverlap) {
  //                   compute       between nodes   inside one
  StepTimeModel model{0.1, 0.01, /**/ 0.4, 0.05, /**/ 0.03, 0.01, /*overlap=*/1};
  EXPECT_DOUBLE_EQ(predict(model, {1, 1}, 20).step_s, 0.3);
  EXPECT_DOUBLE_EQ(predict(model, {1, 2}, 20).step_s, 0.33) << "two replicas pay no growth";
  EXPECT_DOUBLE_EQ(predict(model, {1, 4}, 20).step_s, 0.35);
  EXPECT_DOUBLE_EQ(predict(model, {2, 4}, 20).step_s, 0.8);
  EXPECT_DOUBLE_EQ(predict(model, {2, 4}, 20).compute_s, 0.3);
  model.overlap = 2;
  model.between_beta = 0;
  EXPECT_NEAR(predict(model, {2, 4}, 20).step_s, 0.5, 1e-12) << "3, 4, 5";
}

TEST(UsefulSteps, FallBetweenOneAndTheScale) {
  EXPECT_DOUBLE_EQ(useful_steps({3, 7}, 1), 1);
  EXPECT_DOUBLE_EQ(useful_steps({0, 5}, 16), 16) << "pure noise: averaging is worth all of it";
  EXPECT_DOUBLE_EQ(useful_steps({5, 0}, 16), 1) << "no noise: a larger batch is worth nothing";
  EXPECT_DOUBLE_EQ(useful_steps({1, 3}, 3), 2);
  EXPECT_DOUBLE_EQ(useful_steps({0, 0}, 8), 1);
}

TEST(SplitBatch, KeepsToMemoryAndToTheLargestBatch) {
  const BatchLimits limits{.initial = 32, .largest = 512, .local_min = 8, .local_max = 64};
  struct Row {
    const char* what;
    int total, replicas, local, accumulation;
  };
  for (const Row& row : {
           Row{"fits at once", 64, 2, 32, 0},
           Row{"rounded up", 65, 2, 33, 0},
           Row{"two passes", 256, 2, 64, 1},
           Row{"three passes share evenly", 300, 2, 50, 2},
           Row{"one replica at the initial batch", 32, 1, 32, 0},
           Row{"one replica above it splits", 48, 1, 24, 1},
           Row{"never above the largest batch", 513, 4, 42, 2},
       }) {
    const BatchChoice got = split_batch(row.total, row.replicas, limits);
    EXPECT_EQ(got.local_batch, row.local) << row.what;
    EXPECT_EQ(got.accumulation, row.accumulation) << row.what;
  }
}

// Every batch that the limits allow.
BatchChoice best_by_trying_all(const StepTimeModel& model, GradientNoise noise, Gang gang,
                               const BatchLimits& limits) {
  BatchChoice best;
  for (int accumulation = 0; gang.replicas * (accumulation + 1) <= limits.largest; ++accumulation)
    for (int local = limits.local_min; local <= limits.local_max; ++local) {
      const int total = gang.replicas * local * (accumulation + 1);
      if (total < limits.initial || total > limits.largest) continue;
      if (gang.replicas == 1 && accumulation == 0 && total > limits.initial) continue;
      const double value =
          goodput(predict(model, gang, local), noise, limits, gang.replicas, local, accumulation);
      if (value > best.goodput) best = {local, accumulation, value};
    }
  return best;
}

TEST(BestBatch, ComesCloseToTryingAll) {
  for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const auto spread = [&](double low, double high) {
      return low * std::pow(high / low, random.uniform());
    };
    const StepTimeModel model{spread(1e-3, 1),
                              spread(1e-5, 1e-1),
                              spread(1e-3, 10),
                              spread(1e-5, 0.1),
                              spread(1e-3, 1),
                              spread(1e-5, 0.1),
                              random.chance(0.2) ? 1.0 : random.uniform(1, 10)};
    BatchLimits limits;
    limits.local_min = static_cast<int>(1 + random.below(32));
    limits.local_max = limits.local_min + static_cast<int>(random.below(500));
    limits.initial = static_cast<int>(1 + random.below(256));
    limits.largest = limits.initial + static_cast<int>(random.below(4000));
    const int nodes = static_cast<int>(1 + random.below(4));
    const Gang gang{nodes, nodes * static_cast<int>(1 + random.below(8))};
    const GradientNoise noise{spread(1e-3, 10), spread(1e-3, 100)};
    const BatchChoice want = best_by_trying_all(model, noise, gang, limits);
    const BatchChoice got = best_batch(model, noise, gang, limits);
    EXPECT_LE(got.goodput, want.goodput * (1 + 1e-12));
    EXPECT_GE(got.goodput, want.goodput * 0.98);
    if (got.goodput > 0) {
      const int total = gang.replicas * got.local_batch * (got.accumulation + 1);
      EXPECT_GE(total, limits.initial);
      EXPECT_LE(total, limits.largest);
      EXPECT_LE(got.local_batch, limits.local_max);
      EXPECT_GE(got.local_batch, limits.local_min);
    }
    if (HasFailure()) return;
  }
}

TEST(BestBatch, SaysSoWhenTheGangIsTooLarge) {
  const BatchLimits limits{.initial = 8, .largest = 64, .local_min = 8, .local_max = 32};
  EXPECT_EQ(best_batch({0.1, 0.01, 0.1, 0, 0.1, 0, 1}, {1, 1}, {2, 16}, limits).goodput, 0);
}

StepTable small_table() {
  const std::vector<StepTable::Row> rows = {
      {{1}, {1, 1}, 8, {0.10, 0.10}},     {{1}, {1, 1}, 16, {0.18, 0.18}},
      {{1, 3}, {2, 4}, 8, {0.10, 0.30}},  {{2, 2}, {2, 4}, 8, {0.10, 0.20}},
      {{2, 2}, {2, 4}, 16, {0.18, 0.28}}, {{}, {4, 8}, 8, {0.10, 0.40}},
      {{}, {4, 8}, 16, {0.18, 0.48}},     {{}, {4, 16}, 8, {0.10, 0.60}},
  };
  return StepTable(rows);
}

TEST(StepTable, InterpolatesWhatWasMeasured) {
  const StepTable table = small_table();
  struct Row {
    const char* what;
    Placement placement;
    double local_batch, step_s;
  };
  for (const Row& row : {
           Row{"measured", {1}, 8, 0.10},
           Row{"between two batch sizes", {1}, 12, 0.14},
           Row{"below the smallest batch: no faster than it", {1}, 4, 0.10},
           Row{"the ring may be turned", {3, 1}, 8, 0.30},
           Row{"an unmeasured gang: half-way from 2 to 4 nodes", {2, 2, 2}, 8, 0.325},
           Row{"more replicas per node", {3, 3, 3, 3}, 8, 0.50},
           Row{"fewer replicas per node than measured", {1, 1, 1, 1}, 8, 0.40},
           Row{"more nodes than measured", {2, 2, 2, 2, 2, 2}, 8, 0.40},
       }) {
    const std::optional<StepTime> got = table.at(row.placement, row.local_batch);
    ASSERT_TRUE(got.has_value()) << row.what;
    EXPECT_NEAR(got->step_s, row.step_s, 1e-12) << row.what;
  }
  EXPECT_NEAR(table.at(Gang{2, 4}, 8)->step_s, 0.25, 1e-12) << "a gang is the mean of placements";
}

TEST(StepTable, RefusesABatchThatDidNotFit) {
  const StepTable table = small_table();
  EXPECT_FALSE(table.at(Placement{1}, 17).has_value());
  EXPECT_FALSE(table.at(Placement{1, 3}, 9).has_value()) << "measured at 8 only";
  EXPECT_EQ(table.local_max(Placement{1, 3}), 8);
  EXPECT_EQ(table.local_max(Placement{1}), 16);
  EXPECT_EQ(table.local_max(Gang{4, 12}), 8) << "the least of what is blended";
}

NoiseTable small_noise() {
  return NoiseTable({{64, {{101, {2, 6}}, {202, {1, 11}}}}, {16, {{100, {4, 4}}, {200, {1, 9}}}}});
}

TEST(NoiseTable, InterpolatesBatchesAndFollowsEpochs) {
  const NoiseTable noise = small_noise();
  EXPECT_EQ(noise.epochs(), 2);
  EXPECT_EQ(noise.smallest_batch(), 16);
  EXPECT_EQ(noise.end_of(0), 100) << "the earliest end of all batch sizes";
  EXPECT_EQ(noise.epoch_at(0), 0);
  EXPECT_EQ(noise.epoch_at(99.9), 0);
  EXPECT_EQ(noise.epoch_at(100), 1);
  EXPECT_EQ(noise.epoch_at(200), 2);
  EXPECT_DOUBLE_EQ(noise.at(0, 16).squared, 4);
  EXPECT_DOUBLE_EQ(noise.at(0, 40).squared, 3);
  EXPECT_DOUBLE_EQ(noise.at(1, 40).variance, 10);
  EXPECT_DOUBLE_EQ(noise.at(0, 8).squared, 4) << "below the smallest batch";
  EXPECT_DOUBLE_EQ(noise.at(0, 640).squared, 2) << "above the largest batch";
}

TEST(Goodput, BestIsTheBestOfItsRates) {
  Goodput profile{"small", {{"gpu", small_table(), {16, 64, 8, 16}, 1, 0}}, small_noise()};
  profile.epochs = 2;
  profile.slowdown = 2;
  // Batch 32 on {2,2}: scale 2, noise (3 1/3, 4 2/3) useful steps 8 / (4 2/3 / 2 + 3 1/3); 0.2 s.
  const double rate = profile.rate(0, Placement{2, 2}, {8, 0, 0}, 0);
  EXPECT_NEAR(rate, 8.0 / (14.0 / 6 + 10.0 / 3) / 0.2 / 2, 1e-9);
  EXPECT_EQ(profile.rate(0, Placement{2, 2}, {17, 0, 0}, 0), 0) << "does not fit";
  const BatchChoice best = profile.best(0, Placement{2, 2}, 1);
  EXPECT_DOUBLE_EQ(best.goodput, profile.rate(0, Placement{2, 2}, best, 1));
  for (int local = 8; local <= 16; ++local)
    EXPECT_LE(profile.rate(0, Placement{2, 2}, {local, 0, 0}, 1), best.goodput * 1.001);
  EXPECT_EQ(profile.best(0, Placement{4, 4, 4}, 1).goodput, 0) << "12 replicas of 8 exceed 64";
}

}  // namespace
}  // namespace weft
