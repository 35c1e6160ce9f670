#include "policy/solve/choose.h"

#include <coin/Clp_C_Interface.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>

#include "base/random.h"

namespace weft {
namespace {

using Jobs = std::vector<std::vector<ChooseOption>>;

ChooseProblem problem_of(std::vector<std::int64_t> capacity, const Jobs& jobs) {
  ChooseProblem problem{std::move(capacity), {0}, {}};
  for (const std::vector<ChooseOption>& options : jobs) {
    problem.options.insert(problem.options.end(), options.begin(), options.end());
    problem.first_option.push_back(static_cast<std::uint32_t>(problem.options.size()));
  }
  return problem;
}

// Random sizes and values; `ties` draws values from few whole numbers, so that much is equal.
ChooseProblem random_problem(Random& random, std::size_t jobs, std::size_t most_options,
                             std::size_t types, std::int64_t most_capacity, bool ties) {
  std::vector<std::int64_t> capacity(types);
  for (std::int64_t& c : capacity)
    c = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(most_capacity) + 1));
  Jobs list(jobs);
  for (std::vector<ChooseOption>& options : list) {
    options.resize(random.below(most_options + 1));
    for (ChooseOption& o : options) {
      o.type = static_cast<TypeId>(random.below(types));
      o.devices = static_cast<std::int32_t>(random.below(9));
      o.value = ties ? static_cast<double>(random.below(5)) - 1
                     : random.uniform(-0.2, 1.0) * std::sqrt(1.0 + o.devices);
    }
  }
  return problem_of(std::move(capacity), list);
}

void expect_sound(const ChooseProblem& problem, const ChooseResult& result) {
  ASSERT_EQ(result.choice.size(), problem.jobs());
  std::vector<std::int64_t> used(problem.capacity.size(), 0);
  double value = 0;
  for (std::size_t j = 0; j < problem.jobs(); ++j) {
    if (result.choice[j] == kNoOption) continue;
    const auto index = static_cast<std::uint32_t>(result.choice[j]);
    ASSERT_GE(index, problem.first_option[j]) << "job " << j << " took the option of another";
    ASSERT_LT(index, problem.first_option[j + 1]) << "job " << j << " took the option of another";
    used[problem.options[index].type] += problem.options[index].devices;
    value += problem.options[index].value;
  }
  for (std::size_t t = 0; t < used.size(); ++t)
    EXPECT_LE(used[t], problem.capacity[t]) << "type " << t << " is given twice";
  EXPECT_NEAR(result.value, value, 1e-9 * (1 + std::abs(value)));
  EXPECT_LE(result.value, result.bound + 1e-9 * (1 + std::abs(value)));
  ASSERT_EQ(result.price.size(), problem.capacity.size());
  for (const double price : result.price) EXPECT_GE(price, 0.0);
}

double best_by_trying_all(const ChooseProblem& problem) {
  std::vector<std::int64_t> spare = problem.capacity;
  const std::function<double(std::size_t)> best = [&](std::size_t job) -> double {
    if (job == problem.jobs()) return 0;
    double most = best(job + 1);
    for (std::uint32_t o = problem.first_option[job]; o < problem.first_option[job + 1]; ++o) {
      const ChooseOption& option = problem.options[o];
      if (option.devices > spare[option.type]) continue;
      spare[option.type] -= option.devices;
      most = std::max(most, option.value + best(job + 1));
      spare[option.type] += option.devices;
    }
    return most;
  };
  return best(0);
}

// The linear relaxation, over the options that fit alone, by CLP.
double relaxation(const ChooseProblem& problem) {
  Clp_Simplex* model = Clp_newModel();
  Clp_setLogLevel(model, 0);
  Clp_setOptimizationDirection(model, -1);
  const int types = static_cast<int>(problem.capacity.size());
  const int rows = types + static_cast<int>(problem.jobs());
  Clp_resize(model, rows, 0);
  for (int r = 0; r < rows; ++r) {
    Clp_rowLower(model)[r] = -1e30;
    Clp_rowUpper(model)[r] =
        r < types ? static_cast<double>(problem.capacity[static_cast<std::size_t>(r)]) : 1.0;
  }
  for (std::size_t j = 0; j < problem.jobs(); ++j)
    for (std::uint32_t o = problem.first_option[j]; o < problem.first_option[j + 1]; ++o) {
      const ChooseOption& option = problem.options[o];
      if (option.devices > problem.capacity[option.type]) continue;
      const double lower = 0, upper = 1;
      const CoinBigIndex starts[] = {0, 2};
      const int row[] = {option.type, types + static_cast<int>(j)};
      const double element[] = {static_cast<double>(option.devices), 1.0};
      Clp_addColumns(model, 1, &lower, &upper, &option.value, starts, row, element);
    }
  double value = 0;
  if (Clp_numberColumns(model) > 0) {  // CLP does not survive a model without columns
    Clp_primal(model, 0);
    value = Clp_getObjValue(model);
  }
  Clp_deleteModel(model);
  return value;
}

struct ChoiceCase {
  const char* what;
  std::vector<std::int64_t> capacity;
  Jobs jobs;
  std::vector<std::int32_t> want;  // option within the job, or kNoOption
};

TEST(Choose, DecidesSmallCasesByHand) {
  const ChoiceCase cases[] = {
      {"no job", {4}, {}, {}},
      {"a job without options", {4}, {{}}, {kNoOption}},
      {"all that fits is taken", {4}, {{{1, 2, 0}}, {{1, 2, 0}}}, {0, 0}},
      {"an option worth nothing is left", {4}, {{{0, 1, 0}}, {{-1, 1, 0}}}, {kNoOption, kNoOption}},
      {"nothing fits into nothing", {0}, {{{5, 1, 0}}}, {kNoOption}},
      {"an option that holds no device is free", {0}, {{{5, 0, 0}}}, {0}},
      {"two small beat one large", {4}, {{{3, 4, 0}}, {{2, 2, 0}}, {{2, 2, 0}}}, {kNoOption, 0, 0}},
      {"the last pair goes where it adds most",
       {6},
       {{{2, 2, 0}, {3, 4, 0}}, {{2, 2, 0}, {2.5, 4, 0}}},
       {1, 0}},
      {"a job yields the fast type to one that gains more",
       {2, 2},
       {{{1.0, 2, 0}, {3.0, 2, 1}}, {{1.0, 2, 0}, {1.5, 2, 1}}},
       {1, 0}},
  };
  for (const ChoiceCase& c : cases) {
    SCOPED_TRACE(c.what);
    const ChooseProblem problem = problem_of(c.capacity, c.jobs);
    const ChooseResult result = choose(problem);
    expect_sound(problem, result);
    for (std::size_t j = 0; j < c.want.size(); ++j) {
      const std::int32_t offset = static_cast<std::int32_t>(problem.first_option[j]);
      EXPECT_EQ(result.choice[j], c.want[j] == kNoOption ? kNoOption : c.want[j] + offset)
          << "job " << j;
    }
  }
}

TEST(Choose, IsExactOnSmallProblems) {
  for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const ChooseProblem problem =
        random_problem(random, random.below(7), 4, 1 + random.below(3), 14, seed % 3 == 0);
    const ChooseResult result = choose(problem);
    expect_sound(problem, result);
    EXPECT_NEAR(result.value, best_by_trying_all(problem), 1e-8);
    if (HasFailure()) return;
  }
}

TEST(Choose, BoundIsThatOfTheLinearRelaxation) {
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const std::size_t jobs = 1 + random.below(200);
    const ChooseProblem problem =
        random_problem(random, jobs, 20, 1 + random.below(6),
                       static_cast<std::int64_t>(1 + 2 * jobs), seed % 4 == 0);
    const ChooseResult result = choose(problem);
    expect_sound(problem, result);
    const double want = relaxation(problem);
    EXPECT_NEAR(result.bound, want, 1e-6 * (1 + std::abs(want)));
    if (HasFailure()) return;
  }
}

TEST(Choose, LeavesASmallGapOnLargeProblems) {
  double worst = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed);
    ChooseProblem problem = random_problem(random, 3000, 20, 3, 1, false);
    problem.capacity = {2000, 1000, 3000};
    const ChooseResult result = choose(problem);
    expect_sound(problem, result);
    worst = std::max(worst, result.gap());
  }
  EXPECT_LT(worst, 1e-4);
}

TEST(Choose, WarmPricesKeepTheBoundAndSaveRounds) {
  Random random(7);
  ChooseProblem problem = random_problem(random, 2000, 20, 3, 1, false);
  problem.capacity = {1500, 800, 2500};
  const ChooseResult cold = choose(problem);
  const ChooseResult warm = choose(problem, cold.price);
  expect_sound(problem, warm);
  EXPECT_NEAR(warm.bound, cold.bound, 1e-7 * cold.bound);
  EXPECT_LT(warm.price_rounds, cold.price_rounds);
  const std::vector<double> absurd = {1e6, 0, 3e-9};
  const ChooseResult misled = choose(problem, absurd);
  expect_sound(problem, misled);
  EXPECT_NEAR(misled.bound, cold.bound, 1e-7 * cold.bound);
}

TEST(Choose, StaysSoundWhenStoppedEarly) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const ChooseProblem problem = random_problem(random, 60, 6, 3, 40, seed % 2 == 0);
    ChooseLimits limits;
    limits.price_rounds = static_cast<int>(1 + random.below(4));
    limits.search_steps = static_cast<std::int64_t>(random.below(20));
    const ChooseResult result = choose(problem, {}, limits);
    expect_sound(problem, result);
    EXPECT_GE(result.bound, relaxation(problem) - 1e-6);
    EXPECT_EQ(result.choice, choose(problem, {}, limits).choice);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace weft
