#include "flow/shift.h"

#include <gtest/gtest.h>

#include <cmath>

namespace weft {
namespace {

TEST(CommonPeriod, FindsSmallMultiples) {
  const CommonPeriod same = common_period(std::vector<Seconds>{2, 2});
  EXPECT_DOUBLE_EQ(same.perimeter, 2);
  EXPECT_DOUBLE_EQ(same.stretch, 1);
  const CommonPeriod two_to_three = common_period(std::vector<Seconds>{0.4, 0.6});
  EXPECT_NEAR(two_to_three.perimeter, 1.2, 1e-12);
  EXPECT_EQ(two_to_three.turns, (std::vector<std::uint32_t>{3, 2}));
  EXPECT_NEAR(two_to_three.stretch, 1, 1e-9);
}

TEST(CommonPeriod, StretchesWhenThereIsNone) {
  const CommonPeriod odd = common_period(std::vector<Seconds>{1, 0.9 / std::sqrt(2)}, 0.01, 2);
  EXPECT_GT(odd.stretch, 1.01);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_GE(odd.perimeter / odd.turns[i], (i == 0 ? 1 : 0.9 / std::sqrt(2)) * (1 - 1e-9))
        << "a job is never asked to be faster than it is";
  }
}

Circle circle(Seconds period, Seconds from, Seconds until, double rate = 10) {
  return {period, {{from, until, rate}}};
}

// How many bytes two phases of one link ask for at once, by fine steps.
double both(const Circle& a, Seconds shift_a, const Circle& b, Seconds shift_b, Seconds perimeter) {
  const auto busy = [](const Circle& c, Seconds t) {
    t = std::fmod(std::fmod(t, c.period) + c.period, c.period);
    return t >= c.phases[0].from && t < c.phases[0].until;
  };
  double together = 0;
  for (int i = 0; i < 10000; ++i) {
    const Seconds t = perimeter * (i + 0.5) / 10000;
    together += busy(a, t - shift_a) && busy(b, t - shift_b) ? perimeter / 10000 : 0;
  }
  return together;
}

TEST(TimeShifts, TwoJobsWithHalfAPeriodEachFitExactly) {
  const std::vector<SharedLink> links = {{10, {0, 1}, {circle(1, 0.5, 1), circle(1, 0.5, 1)}}};
  const TimeShifts got = time_shifts(2, 1, links);
  EXPECT_TRUE(got.loop_free);
  EXPECT_NEAR(got.excess, 0, 1e-9);
  EXPECT_EQ(got.delays[0], 0);
  EXPECT_NEAR(got.delays[1], 0.5, 1.0 / 720);
}

TEST(TimeShifts, TheMiddleOfThePauseIsChosen) {
  const Circle a = circle(1, 0, 0.3), b = circle(1, 0, 0.3);
  const std::vector<SharedLink> links = {{10, {0, 1}, {a, b}}};
  const TimeShifts got = time_shifts(2, 1, links);
  EXPECT_NEAR(got.delays[1], 0.5, 0.005) << "as far from the other on both sides";
}

TEST(TimeShifts, DifferentPeriods) {
  // 0.2 of every 0.5 s, and 0.5 of every 1 s cannot meet; 0.3 of every 1 s can.
  const Circle quick = circle(0.5, 0, 0.2), slow = circle(1, 0, 0.25);
  const std::vector<SharedLink> links = {{10, {0, 1}, {quick, slow}}};
  const TimeShifts got = time_shifts(2, 1, links);
  EXPECT_NEAR(got.excess, 0, 1e-9);
  EXPECT_NEAR(both(quick, got.delays[0], slow, got.delays[1], 1), 0, 2e-3);
}

TEST(TimeShifts, WhatCannotFitIsReported) {
  const std::vector<SharedLink> links = {{10, {0, 1}, {circle(1, 0, 0.8), circle(1, 0, 0.8)}}};
  EXPECT_NEAR(time_shifts(2, 1, links).excess, 0.6 / 1.6, 1e-3);
}

TEST(TimeShifts, RotationsAddUpAlongTheAffinityGraph) {
  // A chain 2 - 0 - 1: the middle job shares a link with each of the others.
  const Circle half = circle(1, 0, 0.5);
  const std::vector<SharedLink> links = {{10, {2, 0}, {half, half}}, {10, {1, 2}, {half, half}}};
  const TimeShifts got = time_shifts(3, 1, links);
  EXPECT_TRUE(got.loop_free);
  EXPECT_NEAR(got.excess, 0, 1e-9);
  EXPECT_NEAR(both(half, got.delays[0], half, got.delays[2], 1), 0, 2e-3);
  EXPECT_NEAR(both(half, got.delays[1], half, got.delays[2], 1), 0, 2e-3);
}

TEST(TimeShifts, LoopsAreSearchedTogether) {
  // Three jobs in a ring, a third of the time each: only all three apart is free of excess.
  const Circle third = circle(1, 0, 0.3);
  const std::vector<SharedLink> links = {
      {10, {0, 1}, {third, third}}, {10, {1, 2}, {third, third}}, {10, {2, 0}, {third, third}}};
  const TimeShifts got = time_shifts(3, 1, links);
  EXPECT_FALSE(got.loop_free);
  EXPECT_NEAR(got.excess, 0, 1e-3);
}

TEST(TimeShifts, AJobAloneIsNotHeldBack) {
  EXPECT_EQ(time_shifts(1, 1, {}).delays, (std::vector<Seconds>{0}));
}

}  // namespace
}  // namespace weft
