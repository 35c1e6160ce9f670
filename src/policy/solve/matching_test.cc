#include "policy/solve/matching.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/random.h"

namespace weft {
namespace {

double cost_of(const std::vector<std::size_t>& column_of, std::size_t columns,
               const std::vector<double>& cost) {
  double sum = 0;
  for (std::size_t r = 0; r < column_of.size(); ++r) sum += cost[r * columns + column_of[r]];
  return sum;
}

// All ways to give distinct columns to rows.
double brute_force(std::size_t rows, std::size_t columns, const std::vector<double>& cost) {
  std::vector<std::size_t> order(columns);
  std::iota(order.begin(), order.end(), 0U);
  double best = std::numeric_limits<double>::infinity();
  do {
    best = std::min(
        best, cost_of({order.begin(), order.begin() + static_cast<long>(rows)}, columns, cost));
  } while (std::next_permutation(order.begin(), order.end()));
  return best;
}

TEST(MinCostMatching, TheCheapColumnGoesToWhoLosesMostWithoutIt) {
  EXPECT_EQ(min_cost_matching(2, 2, std::vector<double>{1, 2, 1, 10}),
            (std::vector<std::size_t>{1, 0}));
  EXPECT_TRUE(min_cost_matching(0, 0, {}).empty());
}

TEST(MinCostMatching, EqualsAllPermutationsOnRandomCosts) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const std::size_t columns = 1 + random.below(7);
    const std::size_t rows = 1 + random.below(columns);
    std::vector<double> cost(rows * columns);
    const bool small = random.chance(0.5);  // many ties
    for (double& entry : cost) {
      entry = small ? static_cast<double>(random.below(4)) : random.uniform(-5, 20);
    }
    const std::vector<std::size_t> found = min_cost_matching(rows, columns, cost);
    std::vector<std::size_t> sorted = found;
    std::sort(sorted.begin(), sorted.end());
    EXPECT_EQ(std::adjacent_find(sorted.begin(), sorted.end()), sorted.end());
    EXPECT_NEAR(cost_of(found, columns, cost), brute_force(rows, columns, cost), 1e-9);
  }
}

// The sum of completion times when the job with the most behind it starts first.
double total_completion(const std::vector<double>& processing, std::size_t types,
                        const std::vector<MachineSlot>& schedule) {
  double sum = 0;
  for (std::size_t j = 0; j < schedule.size(); ++j) {
    for (std::size_t i = 0; i < schedule.size(); ++i) {
      if (schedule[i].type == schedule[j].type && schedule[i].machine == schedule[j].machine &&
          schedule[i].from_last >= schedule[j].from_last) {
        sum += processing[i * types + schedule[i].type];
      }
    }
  }
  return sum;
}

// Tries every assignment to machines; on one machine the shortest job first is best.
double best_completion(const std::vector<double>& processing, std::size_t types,
                       const std::vector<std::size_t>& machines) {
  std::vector<std::size_t> type_of;
  for (std::size_t t = 0; t < types; ++t) type_of.insert(type_of.end(), machines[t], t);
  const std::size_t jobs = processing.size() / types;
  std::vector<std::size_t> on(jobs, 0);
  double best = std::numeric_limits<double>::infinity();
  for (;;) {
    double sum = 0;
    for (std::size_t m = 0; m < type_of.size(); ++m) {
      std::vector<double> times;
      for (std::size_t j = 0; j < jobs; ++j) {
        if (on[j] == m) times.push_back(processing[j * types + type_of[m]]);
      }
      std::sort(times.begin(), times.end());
      double at = 0;
      for (const double time : times) sum += at += time;
    }
    best = std::min(best, sum);
    std::size_t j = 0;
    while (j < jobs && ++on[j] == type_of.size()) on[j++] = 0;
    if (j == jobs) return best;
  }
}

TEST(AlloxSchedule, GivesTheLeastTotalCompletionTime) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const std::size_t jobs = 1 + random.below(5);
    const std::vector<std::size_t> machines{1 + random.below(2), random.below(2), 1};
    std::vector<double> processing(jobs * 3);
    for (double& time : processing) {
      time = random.chance(0.1) ? std::numeric_limits<double>::infinity() : random.uniform(1, 9);
    }
    for (std::size_t j = 0; j < jobs; ++j) processing[j * 3 + 2] = random.uniform(1, 9);
    const std::vector<MachineSlot> schedule = allox_schedule(processing, machines);
    EXPECT_NEAR(total_completion(processing, 3, schedule), best_completion(processing, 3, machines),
                1e-9);
  }
}

TEST(AlloxSchedule, PlacesOnAMachineAreUsedFromTheEnd) {
  const std::vector<MachineSlot> schedule =
      allox_schedule(std::vector<double>{5, 1, 3}, std::vector<std::size_t>{1});
  EXPECT_EQ(schedule[0].from_last, 0U);  // the longest runs last
  EXPECT_EQ(schedule[2].from_last, 1U);
  EXPECT_EQ(schedule[1].from_last, 2U);
}

}  // namespace
}  // namespace weft
