#include "policy/solve/share.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "policy/solve/share_testing.h"

namespace weft {
namespace {

constexpr double kExact = 1e-6;  // relative, against the linear program

bool any_can_run(const ShareProblem& problem) {
  for (std::size_t j = 0; j < problem.jobs(); ++j) {
    if (best_alone(problem, j) > 0) return true;
  }
  return false;
}

double lowest_share_level(const ShareProblem& problem, std::span<const ShareNeed> needs,
                          std::span<const double> fraction) {
  double lowest = std::numeric_limits<double>::infinity();
  for (std::size_t j = 0; j < problem.jobs(); ++j) {
    if (best_alone(problem, j) <= 0) continue;
    const double reached = throughput_of(problem, fraction, j);
    lowest = std::min(lowest, reached / (needs[j].work + needs[j].delay * reached));
  }
  return lowest;
}

void expect_level(const ShareProblem& problem, std::span<const ShareNeed> needs, double want) {
  for (const bool water : {false, true}) {
    SCOPED_TRACE(water ? "water filling" : "max-min");
    const ShareResult share =
        water ? share_water_filling(problem, needs) : share_max_min(problem, needs);
    EXPECT_LE(violation(problem, share.fraction), 1e-9);
    EXPECT_NEAR(share.level / want, 1, kExact);
    EXPECT_NEAR(lowest_share_level(problem, needs, share.fraction) / want, 1, kExact);
    EXPECT_GE(share.bound, want * (1 - kExact));
    EXPECT_LE(share.bound - share.level, 2e-7 * share.bound);
  }
}

TEST(ShareMaxMin, SolvesSmallCasesByHand) {
  struct Case {
    const char* name;
    ShareProblem problem;
    double level;
  };
  const Case cases[] = {
      {"three alike on two devices", {{2}, {1, 1, 1}, {1, 1, 1}}, 2.0 / 3},
      // The wide job takes as many devices as the four others together, one level each.
      {"a wide job counts for its devices", {{4}, {1, 1, 1, 1, 4}, {1, 1, 1, 1, 1}}, 0.8},
      // A wants 1.5 per level and makes 2 on the first type; B wants 1 and makes 1 anywhere.
      {"each on the type it is better at", {{1, 1}, {1, 1}, {2, 1, 1, 1}}, 1},
      // Equal share is worth 2.5 to each; the faster type is shared by time.
      {"two alike on unlike types", {{1, 1}, {1, 1}, {4, 1, 4, 1}}, 1},
      {"a type too small for the job is no use", {{1, 4}, {2}, {9, 1}}, 1 / (2.6 / 2)},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    expect_level(c.problem, max_min_needs(c.problem, {}), c.level);
  }
}

TEST(ShareMaxMin, EqualsTheLinearProgramOnRandomProblems) {
  for (std::uint64_t seed = 1; seed <= 700; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const ShareShape shape = kShareShapes[seed % std::size(kShareShapes)];
    const std::size_t jobs = 1 + random.below(seed % 50 == 0 ? 300 : 40);
    const ShareProblem problem = random_share_problem(random, shape, jobs, 1 + random.below(4));
    if (!any_can_run(problem)) continue;
    std::vector<double> number(jobs);
    for (double& entry : number) entry = random.uniform(0.5, 4);
    std::vector<ShareNeed> needs = max_min_needs(problem, number);
    if (seed % 3 == 0) {
      for (double& entry : number) entry = std::pow(10, random.uniform(0, 5));
      needs = makespan_needs(number);
    }
    expect_level(problem, needs, level_by_lp(problem, needs));
  }
}

// Above 400 different jobs most are set aside while prices are searched.
TEST(ShareMaxMin, EqualsTheLinearProgramOnManyJobs) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const ShareShape shape = kShareShapes[seed % 2];
    const ShareProblem problem = random_share_problem(random, shape, 900, 2 + seed % 3);
    const std::vector<ShareNeed> needs = max_min_needs(problem, {});
    expect_level(problem, needs, level_by_lp(problem, needs));
  }
}

TEST(ShareMaxMin, ProvesItsAnswerOnJobsNoLinearProgramIsAskedAbout) {
  Random random(7);
  const ShareProblem problem = random_share_problem(random, ShareShape::kPlain, 20000, 5);
  const std::vector<ShareNeed> needs = max_min_needs(problem, {});
  const ShareResult share = share_max_min(problem, needs);
  EXPECT_LE(violation(problem, share.fraction), 1e-9);
  EXPECT_LE(share.bound - share.level, 2e-7 * share.bound);
  EXPECT_NEAR(lowest_share_level(problem, needs, share.fraction) / share.level, 1, 1e-8);
}

// At a fixed level finish-time needs are constants, so the linear program can be asked whether a
// hair more than the answer fits: then its own level for those constants would exceed one.
TEST(ShareMaxMin, FinishTimeLevelIsFeasibleAndNoHigherOneIs) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const ShareShape shape = kShareShapes[seed % std::size(kShareShapes)];
    const std::size_t jobs = 1 + random.below(40);
    const ShareProblem problem = random_share_problem(random, shape, jobs, 1 + random.below(4));
    if (!any_can_run(problem)) continue;
    std::vector<double> remaining(jobs), elapsed(jobs), isolated(jobs);
    for (std::size_t j = 0; j < jobs; ++j) {
      remaining[j] = random.uniform(1, 100);
      elapsed[j] = random.uniform(0, 50);
      isolated[j] = random.uniform(20, 200);
    }
    const std::vector<ShareNeed> needs = finish_time_needs(remaining, elapsed, isolated);
    const ShareResult share = share_max_min(problem, needs);
    EXPECT_LE(violation(problem, share.fraction), 1e-9);
    EXPECT_NEAR(lowest_share_level(problem, needs, share.fraction) / share.level, 1, kExact);
    const double above = share.level * (1 + kExact);
    std::vector<ShareNeed> fixed(jobs);
    bool out_of_reach = false;
    for (std::size_t j = 0; j < jobs; ++j) {
      const double slack = 1 - needs[j].delay * above;
      out_of_reach |= slack <= 0 && best_alone(problem, j) > 0;
      if (slack > 0) fixed[j].work = needs[j].work * above / slack;
    }
    if (!out_of_reach) {
      EXPECT_LE(level_by_lp(problem, fixed), 1 + 1e-8);
    }
    // rho of the worst job, from its definition.
    double worst = 0;
    for (std::size_t j = 0; j < jobs; ++j) {
      if (best_alone(problem, j) <= 0) continue;
      const double finish = elapsed[j] + remaining[j] / throughput_of(problem, share.fraction, j);
      worst = std::max(worst, finish / isolated[j]);
    }
    EXPECT_NEAR(worst * share.level, 1, kExact);
  }
}

// Max-min fair all the way: nobody's throughput can rise unless somebody falls who is no better
// off. The linear program is asked for each job.
TEST(ShareWaterFilling, NobodyCanRiseAtTheCostOfTheBetterOffOnly) {
  for (std::uint64_t seed = 1; seed <= 120; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const ShareShape shape = kShareShapes[seed % std::size(kShareShapes)];
    const std::size_t jobs = 2 + random.below(10);
    const ShareProblem problem = random_share_problem(random, shape, jobs, 1 + random.below(4));
    const std::vector<ShareNeed> needs = max_min_needs(problem, {});
    const ShareResult share = share_water_filling(problem, needs);
    EXPECT_LE(violation(problem, share.fraction), 1e-9);
    for (std::size_t j = 0; j < jobs; ++j) {
      const double own = throughput_of(problem, share.fraction, j);
      std::vector<double> floor(jobs, 0);
      std::vector<double> value(jobs * problem.types(), 0);
      for (std::size_t i = 0; i < jobs; ++i) {
        const double other = throughput_of(problem, share.fraction, i);
        if (other / needs[i].work <= own / needs[j].work * (1 + 1e-6))
          floor[i] = other * (1 - 1e-8);
      }
      for (std::size_t t = 0; t < problem.types(); ++t) {
        value[j * problem.types() + t] = problem.throughput[j * problem.types() + t];
      }
      EXPECT_LE(value_by_lp(problem, value, floor).value(), own * (1 + 1e-4) + 1e-9) << "job " << j;
    }
  }
}

TEST(ShareWaterFilling, GoesOnWhereMaxMinStops) {
  // Two jobs share the only device of the first type; the third has the second type for itself and
  // the fourth joins it there.
  const ShareProblem problem{{1, 3}, {1, 1, 1, 2}, {1, 0, 1, 0, 0, 1, 0, 1}};
  const std::vector<ShareNeed> needs(4);
  const ShareResult share = share_water_filling(problem, needs);
  const double want[] = {0.5, 0.5, 1, 1};
  for (std::size_t j = 0; j < 4; ++j) {
    EXPECT_NEAR(throughput_of(problem, share.fraction, j), want[j], 1e-6);
  }
  EXPECT_NEAR(share.level, 0.5, 1e-7);
}

TEST(Share, JobsThatCannotRunAndMissingDevicesGetNothing) {
  const ShareProblem nobody{{2, 2}, {}, {}};
  EXPECT_TRUE(share_max_min(nobody, {}).fraction.empty());
  const ShareProblem nothing{{0}, {1}, {1}};
  EXPECT_EQ(share_max_min(nothing, std::vector<ShareNeed>(1)).fraction, std::vector<double>{0});
  // The first is wider than any type, the second has no throughput; the third is not held back.
  const ShareProblem mixed{{2}, {4, 1, 1}, {1, 0, 1}};
  for (const ShareResult& share : {share_max_min(mixed, max_min_needs(mixed, {})),
                                   share_water_filling(mixed, max_min_needs(mixed, {}))}) {
    EXPECT_EQ(share.fraction[0], 0);
    EXPECT_EQ(share.fraction[1], 0);
    EXPECT_NEAR(share.fraction[2], 1, 1e-8);
  }
}

TEST(Share, HeavierJobsGetMoreAndEqualInputsGiveEqualAnswers) {
  const ShareProblem problem{{3}, {1, 1, 1, 1}, {1, 1, 1, 1}};
  const double weight[] = {1, 1, 1, 3};
  const std::vector<ShareNeed> needs = max_min_needs(problem, weight);
  const ShareResult share = share_water_filling(problem, needs);
  EXPECT_NEAR(share.fraction[3], 1, 1e-7);  // its own time is all it can take
  EXPECT_NEAR(share.fraction[0], 2.0 / 3, 1e-7);
  EXPECT_EQ(share.fraction, share_water_filling(problem, needs).fraction);
}

TEST(Share, IsolatedFractionsSplitEveryTypeEvenly) {
  const ShareProblem problem{{8, 4}, {1, 2, 4, 8}, std::vector<double>(8, 1)};
  const std::vector<double> fraction = isolated_fractions(problem);
  // Job 0 could hold 2 + 1 devices but has only one time: scaled down. Job 3 holds 3 of its 8.
  const std::vector<double> want{2.0 / 3, 1.0 / 3, 2.0 / 3, 1.0 / 3, 0.5, 0.25, 0.25, 0.125};
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(fraction[i], want[i], 1e-12);
}

TEST(Share, OneTypeForThoseWhoDoNotKnowThemApart) {
  const ShareProblem problem{{1, 3}, {1, 2}, {4, 1, 6, 2}};
  const ShareProblem one = as_one_type(problem, 0);
  EXPECT_EQ(one.capacity, std::vector<double>{4});
  EXPECT_EQ(one.throughput, (std::vector<double>{4, 6}));
  const std::vector<double> whole{1, 0.5};
  EXPECT_EQ(spread_over_types(whole, problem.capacity),
            (std::vector<double>{0.25, 0.75, 0.125, 0.375}));
}

TEST(ShareMaxValue, EqualsTheLinearProgramOnRandomProblems) {
  int impossible = 0;
  for (std::uint64_t seed = 1; seed <= 700; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const ShareShape shape = kShareShapes[seed % std::size(kShareShapes)];
    const std::size_t jobs = 1 + random.below(seed % 50 == 0 ? 300 : 40);
    const ShareProblem problem = random_share_problem(random, shape, jobs, 1 + random.below(4));
    std::vector<double> value = problem.throughput;
    if (seed % 3 == 0) {  // throughput per money
      for (std::size_t i = 0; i < value.size(); ++i) value[i] /= 0.3 + double(i % problem.types());
    }
    if (seed % 7 == 0) {  // some not worth running
      for (double& entry : value) entry -= 2;
    }
    std::vector<double> floor;
    for (std::size_t j = 0; seed % 2 == 0 && j < jobs; ++j) {
      floor.push_back(random.chance(0.4) ? random.uniform(0, 0.7) * best_alone(problem, j) : 0);
    }
    const std::optional<double> want = value_by_lp(problem, value, floor);
    const ShareValueResult share = share_max_value(problem, value, floor);
    EXPECT_EQ(share.floors_met, want.has_value());
    EXPECT_LE(violation(problem, share.fraction), 1e-9);
    if (!want) {
      ++impossible;
      EXPECT_NEAR(share.value, value_by_lp(problem, value, {}).value(), kExact);
      continue;
    }
    EXPECT_NEAR(share.value, *want, kExact * std::max(1e-9, std::abs(*want)));
    EXPECT_GE(share.bound, *want - 1e-7 * std::abs(*want));
    for (std::size_t j = 0; j < floor.size(); ++j) {
      EXPECT_GE(throughput_of(problem, share.fraction, j), floor[j] * (1 - 1e-8));
    }
  }
  EXPECT_GT(impossible, 10);
}

TEST(ShareMaxValue, ADeadlineMovesAJobThatMoneyWouldNot) {
  // The second type is half as fast at a quarter of the price. Without a deadline both jobs go
  // there; the first must finish 8 units in 5 s and needs the fast type for part of its time.
  const ShareProblem problem{{2, 2}, {1, 1}, {2, 1, 2, 1}};
  const std::vector<double> per_money{2 / 4.0, 1 / 1.0, 2 / 4.0, 1 / 1.0};
  const ShareValueResult cheap = share_max_value(problem, per_money, {});
  EXPECT_NEAR(cheap.fraction[1], 1, 1e-7);
  const std::vector<double> floor{8 / 5.0, 0};
  const ShareValueResult timely = share_max_value(problem, per_money, floor);
  EXPECT_TRUE(timely.floors_met);
  EXPECT_NEAR(timely.fraction[0], 0.6, 1e-7);
  EXPECT_NEAR(timely.fraction[1], 0.4, 1e-7);
  EXPECT_NEAR(timely.fraction[3], 1, 1e-7);
}

}  // namespace
}  // namespace weft
