#include "codec/budget.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "base/random.h"

namespace weft::codec {
namespace {

std::vector<std::uint32_t> bits_of(const std::vector<float>& values) {
  std::vector<std::uint32_t> bits;
  for (const float x : values) bits.push_back(std::bit_cast<std::uint32_t>(std::abs(x)));
  return bits;
}

std::vector<float> normal(Random& random, std::size_t count, double scale) {
  std::vector<float> values(count);
  for (float& x : values) x = static_cast<float>(scale * random.normal());
  return values;
}

TEST(Budget, IsOneThresholdForAllPiecesOfTheStepBefore) {
  Random random(3);
  const auto large = normal(random, 20'000, 1), small = normal(random, 60'000, 0.1);
  Budget budget, backwards;
  EXPECT_FALSE(budget.threshold(0, 0.05).has_value());
  budget.add(large.size(), bits_of(large));
  budget.add(small.size(), bits_of(small));
  EXPECT_FALSE(budget.threshold(0, 0.05).has_value()) << "the step is not over";
  const float at = budget.threshold(1, 0.05).value();
  std::size_t reached = 0;
  for (const auto* piece : {&large, &small}) {
    for (const float x : *piece) reached += std::abs(x) >= at ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(reached), 4000, 100);
  EXPECT_EQ(budget.threshold(1, 0.05), at);

  backwards.add(small.size(), bits_of(small));
  backwards.add(large.size(), bits_of(large));
  EXPECT_EQ(backwards.threshold(7, 0.05), at) << "the order of pieces must not matter";
  EXPECT_EQ(backwards.threshold(8, 0.05), at) << "nothing was added since";
}

TEST(Budget, SamplesCountForTheValuesTheyStandFor) {
  Random random(4);
  Budget budget;
  budget.add(1'000'000, bits_of(normal(random, 10'000, 1)));  // one of a hundred
  budget.add(10'000, bits_of(normal(random, 10'000, 100)));   // all
  // The second piece whole would be 1 %: below it the threshold is among the values of the first.
  EXPECT_GT(budget.threshold(1, 0.005).value(), 20);
  Budget another;
  another.add(1'000'000, bits_of(normal(random, 10'000, 1)));
  another.add(10'000, bits_of(normal(random, 10'000, 100)));
  EXPECT_LT(another.threshold(1, 0.02).value(), 4);
}

TEST(Budget, WhatIsNotFiniteDoesNotCountAndZerosAreNotSent) {
  Budget budget;
  const float inf = std::numeric_limits<float>::infinity();
  budget.add(4, bits_of({inf, std::nanf(""), 0, 0}));
  EXPECT_GT(budget.threshold(1, 1).value(), 0);
  Budget none;
  none.add(0, {});
  EXPECT_FALSE(none.threshold(1, 0.5).has_value());
}

}  // namespace
}  // namespace weft::codec
