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

std::vector<float> normal(std::uint64_t seed, std::size_t count, double scale) {
  Random random(seed);
  std::vector<float> values(count);
  for (float& x : values) x = static_cast<float>(scale * random.normal());
  return values;
}

TEST(Budget, GoesToPiecesWithTheLargestValuesOfTheStepBefore) {
  const auto large = bits_of(normal(1, 20'000, 1)), small = bits_of(normal(2, 60'000, 0.1));
  const Budget::Piece first{&large, 0}, second{&small, 0}, stranger{&large, 1};
  Budget budget, backwards;
  EXPECT_FALSE(budget.share(0, 0.05, first).has_value());
  budget.add(first, 0.05, 20'000, large);
  budget.add(second, 0.05, 60'000, small);
  EXPECT_FALSE(budget.share(0, 0.05, first).has_value()) << "the step is not over";
  const double of_large = budget.share(1, 0.05, first).value();
  const double of_small = budget.share(1, 0.05, second).value();
  EXPECT_NEAR(of_large * 20'000 + of_small * 60'000, 4000, 100);
  EXPECT_GT(of_large, 0.15);
  EXPECT_LT(of_small, 0.01);
  EXPECT_FALSE(budget.share(1, 0.05, stranger).has_value());

  backwards.add(second, 0.05, 60'000, small);
  backwards.add(first, 0.05, 20'000, large);
  EXPECT_EQ(backwards.share(7, 0.05, first), of_large) << "the order of pieces must not matter";
  EXPECT_EQ(backwards.share(8, 0.05, first), of_large) << "nothing was added since";
}

TEST(Budget, SamplesCountForTheValuesTheyStandFor) {
  const auto many = bits_of(normal(3, 10'000, 1)), few = bits_of(normal(4, 10'000, 100));
  const Budget::Piece first{&many, 0}, second{&few, 0};
  Budget budget;
  budget.add(first, 0.02, 1'000'000, many);  // one of a hundred
  budget.add(second, 0.02, 10'000, few);     // all
  const double of_many = budget.share(1, 0.02, first).value();
  EXPECT_NEAR(of_many, 0.017, 0.003);  // 20,200 values less the 3,200 that the second may send
  EXPECT_EQ(budget.share(1, 0.02, second).value(), 16 * 0.02) << "more than that nobody sends";
}

TEST(Budget, WhatIsNotFiniteDoesNotCountAndZerosAreNotSent) {
  const float inf = std::numeric_limits<float>::infinity();
  const auto odd = bits_of({inf, 0, 0, 0, std::nanf(""), 0, 0, 0, 0});  // every fourth counts
  const Budget::Piece piece{&odd, 0};
  Budget budget;
  budget.add(piece, 1, odd.size(), odd);
  EXPECT_EQ(budget.share(1, 1, piece), 0.0);
  Budget none;
  none.add(piece, 1, 0, {});
  EXPECT_FALSE(none.share(1, 0.5, piece).has_value());
}

}  // namespace
}  // namespace weft::codec
