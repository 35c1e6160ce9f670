#include "runtime/record/slow.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/random.h"

namespace weft::runtime {
namespace {

// How long a step takes on each rank: a lognormal body, single spikes with a Pareto tail, bursts on
// one rank, and hiccups of the machine that all ranks feel.
struct Noise {
  const char* name;
  double sigma;
  double spikes;   // share of rank-steps
  double bursts;   // share of steps at which one rank is 3x as slow for three steps
  double hiccups;  // share of steps
};
constexpr Noise kNoises[] = {
    {"quiet", 0.02, 0, 0, 0},
    {"usual", 0.08, 0.02, 0.002, 0.02},
    {"rough", 0.2, 0.05, 0.002, 0.05},
    {"wild", 0.5, 0.05, 0.002, 0.1},
};

class Machine {
 public:
  Machine(const Noise& noise, int ranks, std::uint64_t seed)
      : noise_(noise), random_(seed), burst_(static_cast<std::size_t>(ranks)) {}

  std::vector<Seconds> step() {
    const double all = random_.chance(noise_.hiccups) ? random_.uniform(2, 20) : 1;
    if (random_.chance(noise_.bursts)) burst_[random_.below(burst_.size())] = 3;
    std::vector<Seconds> seconds;
    for (int& burst : burst_) {
      double own = 0.05 * all * random_.log_normal(0, noise_.sigma);
      if (random_.chance(noise_.spikes)) own *= std::pow(1 - random_.uniform(), -1 / 1.5);
      if (burst > 0) own *= 3;
      burst = std::max(0, burst - 1);
      seconds.push_back(own);
    }
    return seconds;
  }

 private:
  Noise noise_;
  Random random_;
  std::vector<int> burst_;
};

TEST(SlowWatchTest, NobodyIsNamedInTenThousandCleanSteps) {
  for (const Noise& noise : kNoises) {
    for (const int ranks : {2, 3, 4, 8, 64}) {
      for (std::uint64_t seed = 1; seed <= (ranks > 8 ? 1 : 3); ++seed) {
        Machine machine(noise, ranks, seed);
        SlowWatch watch(ranks);
        int alarms = 0;
        std::string first;
        for (std::uint64_t step = 0; step < 10'000; ++step) {
          watch.observe(step, machine.step());
          if (watch.slow().empty()) continue;
          if (alarms++ == 0) first = in_words(watch.slow()[0]);
        }
        EXPECT_EQ(alarms, 0) << noise.name << ", " << ranks << " ranks, seed " << seed << ": "
                             << first;
      }
    }
  }
}

struct Slowed {
  const char* sentence;
  double ratio;
  int noise;  // of kNoises
  int ranks;
};

TEST(SlowWatchTest, ASlowedRankIsNamedWithinTenSteps) {
  const Slowed rows[] = {
      {"half as slow again, of two", 1.5, 0, 2},
      {"half as slow again, of four", 1.5, 0, 4},
      {"four times, of two", 4, 1, 2},
      {"four times, of four, usual noise", 4, 1, 4},
      {"half as slow again, usual noise", 1.5, 1, 4},
      {"half as slow again, of 64", 1.5, 1, 64},
      {"four times in rough noise", 4, 2, 8},
  };
  constexpr std::uint64_t kFrom = 120;
  for (const Slowed& row : rows) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      Machine machine(kNoises[row.noise], row.ranks, seed);
      SlowWatch watch(row.ranks);
      const int victim = static_cast<int>(seed) % row.ranks;
      std::uint64_t step = 0;
      for (; step < kFrom + 10 && watch.slow().empty(); ++step) {
        auto seconds = machine.step();
        if (step >= kFrom) seconds[static_cast<std::size_t>(victim)] *= row.ratio;
        watch.observe(step, seconds);
      }
      ASSERT_EQ(watch.slow().size(), 1u) << row.sentence << ", seed " << seed;
      EXPECT_GT(step, kFrom);
      EXPECT_EQ(watch.slow()[0].rank, victim) << row.sentence << ", seed " << seed;
      EXPECT_GE(watch.slow()[0].since + 10, kFrom);
      EXPECT_GT(watch.slow()[0].ratio, 1.2);
    }
  }
}

TEST(SlowWatchTest, ARankSlowFromTheFirstStepIsNamedByTheTenth) {
  SlowWatch watch(4);
  for (std::uint64_t step = 0; step < 10; ++step) {
    watch.observe(step, std::vector<Seconds>{0.01, 0.01, 0.0395, 0.01});
  }
  ASSERT_EQ(watch.slow().size(), 1u);
  EXPECT_EQ(in_words(watch.slow()[0]),
            "rank 2 computes 3.9x as long as the median of the others since step 0");
}

TEST(SlowWatchTest, TwoOfFiveAreBothNamedAndForgottenWhenTheyRecover) {
  SlowWatch watch(5);
  std::uint64_t step = 0;
  for (; step < 10; ++step) {
    watch.observe(step, std::vector<Seconds>{0.02, 0.01, 0.01, 0.01, 0.03});
  }
  ASSERT_EQ(watch.slow().size(), 2u);
  EXPECT_EQ(watch.slow()[0].rank, 0);
  EXPECT_EQ(watch.slow()[1].rank, 4);
  for (; step < 20; ++step) {
    watch.observe(step, std::vector<Seconds>{0.01, 0.01, 0.01, 0.01, 0.01});
  }
  EXPECT_TRUE(watch.slow().empty());
}

TEST(SlowWatchTest, StepsOfNextToNothingDoNotDiffer) {
  SlowWatch watch(2);
  for (std::uint64_t step = 0; step < 100; ++step) {
    watch.observe(step, std::vector<Seconds>{2e-6, 20e-6});
  }
  EXPECT_TRUE(watch.slow().empty());
}

TEST(OwnTimesTest, WithoutMarksAStepIsAMillisecondOnAverage) {
  OwnTimes times(2);
  for (std::uint32_t i = 1; i <= 400; ++i)
    times.take(0, std::vector<std::uint32_t>{100 * i, 400 * i});
  ASSERT_EQ(times.watch().slow().size(), 1u);
  EXPECT_EQ(times.watch().slow()[0].rank, 1);
  EXPECT_LT(times.watch().slow()[0].since, 2u);
}

TEST(OwnTimesTest, MarkedStepsAreTheUsersAlsoWhenTheClockWraps) {
  OwnTimes times(2);
  std::uint32_t own = 0u - 5000;
  for (std::uint64_t step = 1; step <= 12; ++step) {
    for (int operation = 0; operation < 3; ++operation) {
      own += 700;
      const std::uint32_t other = own * 2 + 3000;
      times.take(step, std::vector<std::uint32_t>{own, other});
    }
  }
  ASSERT_EQ(times.watch().slow().size(), 1u);
  EXPECT_EQ(times.watch().slow()[0].rank, 1);
  EXPECT_EQ(times.watch().slow()[0].since, 2u);
  EXPECT_NEAR(times.watch().slow()[0].ratio, 2, 0.1);
}

TEST(OwnTimesTest, WhatARankDidNotTellMakesNoStep) {
  OwnTimes times(2);
  for (std::uint32_t i = 1; i <= 100; ++i) times.take(0, std::vector<std::uint32_t>{9000 * i, 0});
  EXPECT_TRUE(times.watch().slow().empty());
}

}  // namespace
}  // namespace weft::runtime
