#include "planner/energy/energy.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/random.h"
#include "pipeline/costs.h"
#include "pipeline/schedules.h"
#include "pipeline/solve.h"
#include "planner/energy/network.h"

namespace weft::planner {
namespace {

using pipeline::Kind;
using pipeline::Op;
using pipeline::Schedule;

TEST(Network, ItsLengthIsThatOfTheSolver) {
  for (const pipeline::Generator& generator : pipeline::generators()) {
    Schedule schedule = *pipeline::generate(generator.name, {.stages = 4, .micro_batches = 8});
    pipeline::Costs costs = even_costs(schedule, {1, 1.25, 0.75});
    costs.transfer = 0.25;
    costs.optimizer = 0.5;
    costs.slowdown = {1, 1.5, 1, 1.25};
    ASSERT_TRUE(apply_costs(schedule, costs).ok());
    auto network = network_of(schedule, 1e-6);
    if (generator.name == "bpipe") {
      EXPECT_EQ(network.error().kind, ErrorKind::kUnsupported);
      continue;
    }
    for (std::size_t d = 0; d < schedule.programs.size(); ++d) {
      for (std::size_t i = 0; i < schedule.programs[d].size(); ++i) {
        network->activities[static_cast<std::size_t>(network->of_op[d][i])].kinks = {
            std::llround(schedule.programs[d][i].seconds * 1e6)};
      }
    }
    const CostCurve curve(network->events, network->activities);
    EXPECT_NEAR(static_cast<double>(curve.length()) * 1e-6, solve(schedule)->makespan, 1e-4)
        << generator.name;
  }
}

// The least energy by each deadline over all combinations of choices.
std::vector<double> brute_force(const Schedule& schedule, const ClockTable& table,
                                const std::vector<double>& deadlines) {
  std::vector<std::pair<std::size_t, std::size_t>> places;
  for (std::size_t d = 0; d < schedule.programs.size(); ++d) {
    for (std::size_t i = 0; i < schedule.programs[d].size(); ++i) {
      if (table.contains({schedule.programs[d][i].kind, schedule.programs[d][i].work.chunk})) {
        places.push_back({d, i});
      }
    }
  }
  std::vector<double> best(deadlines.size(), std::numeric_limits<double>::infinity());
  std::vector<std::size_t> choice(places.size());
  Schedule trial = schedule;
  const auto index = *pipeline::index_schedule(trial);
  while (true) {
    for (std::size_t k = 0; k < places.size(); ++k) {
      Op& op = trial.programs[places[k].first][places[k].second];
      const ClockChoice& one = table.at({op.kind, op.work.chunk})[choice[k]];
      op.seconds = one.seconds, op.joules = one.joules;
    }
    const auto timeline = *pipeline::solve(trial, index);
    for (std::size_t n = 0; n < deadlines.size(); ++n) {
      if (timeline.makespan > deadlines[n] + 1e-9) continue;
      const double waiting = (deadlines[n] - timeline.makespan) * schedule.devices;
      best[n] = std::min(best[n], timeline.total_joules + schedule.idle_watts * waiting);
    }
    std::size_t k = 0;
    for (; k < choice.size(); ++k) {
      const Op& op = trial.programs[places[k].first][places[k].second];
      if (++choice[k] < table.at({op.kind, op.work.chunk}).size()) break;
      choice[k] = 0;
    }
    if (k == choice.size()) return best;
  }
}

// Whole durations with convex costs: the best times by a whole deadline are whole as well, so that
// changing clocks midway gains nothing and all three must agree.
TEST(Energy, WholeDurationsGiveTheOptimumOfBruteForce) {
  for (const char* name : {"1f1b", "gpipe", "zb-h1"}) {
    for (const std::uint64_t seed : {1, 2, 3, 4}) {
      SCOPED_TRACE(fmt::format("{}, seed {}", name, seed));
      Random random(seed);
      const bool split = std::string(name) == "zb-h1";
      Schedule schedule = *pipeline::generate(name, {.stages = 2, .micro_batches = split ? 1 : 2});
      schedule.idle_watts = 0.5;
      ClockTable table;
      for (const Kind kind :
           {Kind::kForward, Kind::kBackward, Kind::kBackwardInput, Kind::kWeightGradient}) {
        for (const int chunk : {0, 1}) {
          // Savings that get smaller, beside half a joule per second of waiting.
          const double first = random.uniform(1, 6), second = first * random.uniform(0.2, 0.9);
          table[{kind, chunk}] = {{3, 1, 20}, {2, 2, 20.5 - first}, {1, 3, 21 - first - second}};
        }
      }
      const auto range = energy_frontier(schedule, table, 2);
      ASSERT_TRUE(range.ok());
      std::vector<double> deadlines;
      for (double t = range->fastest_s; t <= range->cheapest_s + 1e-6; ++t) deadlines.push_back(t);
      ASSERT_GE(deadlines.size(), 4u);
      const auto frontier = energy_frontier(schedule, table, 1, deadlines);
      ASSERT_TRUE(frontier.ok());
      const std::vector<double> best = brute_force(schedule, table, deadlines);
      for (std::size_t i = 0; i < deadlines.size(); ++i) {
        const EnergyPoint& point = frontier->points[i];
        EXPECT_NEAR(point.seconds, deadlines[i], 1e-6);
        EXPECT_NEAR(point.bound_joules, best[i], 1e-5) << deadlines[i];
        EXPECT_NEAR(point.joules, best[i], 1e-5) << deadlines[i];
      }
    }
  }
}

TEST(Energy, UnevenChoicesStayBetweenTheBoundAndBruteForce) {
  for (const std::uint64_t seed : {5, 6, 7}) {
    SCOPED_TRACE(seed);
    Random random(seed);
    Schedule schedule = *pipeline::generate("1f1b", {.stages = 2, .micro_batches = 2});
    schedule.idle_watts = 1;
    ClockTable table;
    for (const Kind kind : {Kind::kForward, Kind::kBackward}) {
      for (const int chunk : {0, 1}) {
        auto& choices = table[{kind, chunk}];
        for (const double clock : {1.0, 0.8, 0.6}) {
          const double seconds = random.uniform(0.9, 1.1) / clock;
          choices.push_back({clock, seconds, (1 + 9 * clock * clock * clock) * seconds});
        }
      }
    }
    const auto frontier = energy_frontier(schedule, table, 9);
    ASSERT_TRUE(frontier.ok());
    std::vector<double> deadlines;
    for (const EnergyPoint& point : frontier->points) deadlines.push_back(point.seconds);
    const std::vector<double> best = brute_force(schedule, table, deadlines);
    for (std::size_t i = 0; i < deadlines.size(); ++i) {
      const EnergyPoint& point = frontier->points[i];
      EXPECT_LE(point.bound_joules, best[i] + 1e-5);
      EXPECT_GE(point.joules, best[i] - 1e-5);
      EXPECT_LE(point.joules, best[i] * 1.05) << deadlines[i];
      EXPECT_LE(solve(point.chosen)->makespan, deadlines[i] + 1e-6);
    }
  }
}

// A pipeline with one slow stage: without a second more, the others can be slowed.
TEST(Energy, SlowingOffTheCriticalPathCostsNoTime) {
  Schedule schedule = *pipeline::generate("1f1b", {.stages = 4, .micro_batches = 8});
  pipeline::Costs costs{.chunks = {{1, 1, 1}, {1, 1, 1}, {1.4, 1.4, 1.4}, {1, 1, 1}}};
  costs.idle_watts = 100;
  ASSERT_TRUE(apply_costs(schedule, costs).ok());
  const ClockTable table = model_clocks(schedule, {{1, 0.9, 0.8, 0.7, 0.6, 0.5}, 1, 400, 100});
  const auto frontier = energy_frontier(schedule, table, 5);
  ASSERT_TRUE(frontier.ok());
  EXPECT_NEAR(frontier->points[0].seconds, frontier->fastest_s, 1e-6);
  EXPECT_LT(frontier->points[0].joules, frontier->fastest_joules * 0.95);
  for (const EnergyPoint& point : frontier->points) {
    EXPECT_GE(point.joules, point.bound_joules * (1 - 1e-6));
    EXPECT_LE(point.joules, point.bound_joules * 1.03);
    EXPECT_LE(solve(point.chosen)->makespan, point.seconds + 1e-6);
  }
  EXPECT_FALSE(energy_frontier(schedule, table, 1, {1.0}).ok());
}

TEST(Energy, ClocksAreReadFromCsv) {
  const auto table = parse_clocks(
      "do,chunk,clock,seconds,joules\nforward,,1980,0.01,4\nforward,,1200,0.015,3\nbackward,1,1980,"
      "0.02,8\n",
      "clocks.csv");
  ASSERT_TRUE(table.ok()) << table.error().text();
  EXPECT_EQ(table->at({Kind::kForward, kAnyChunk}).size(), 2u);
  EXPECT_EQ(table->at({Kind::kBackward, 1})[0].joules, 8);
  struct Row {
    const char* text;
    const char* want;
  };
  for (const Row& row : {Row{"", "empty"}, Row{"a,b\n", "must name the columns"},
                         Row{"do,chunk,clock,seconds,joules\n", "no choice"},
                         Row{"do,chunk,clock,seconds,joules\nforward,,1,2\n", "4 fields"},
                         Row{"do,chunk,clock,seconds,joules\nsend,,1,2,3\n", "no operation"},
                         Row{"do,chunk,clock,seconds,joules\nforward,-2,1,2,3\n", "no chunk"},
                         Row{"do,chunk,clock,seconds,joules\nforward,,1,-2,3\n", "seconds is"}}) {
    const auto bad = parse_clocks(row.text, "clocks.csv");
    ASSERT_FALSE(bad.ok()) << row.text;
    EXPECT_NE(bad.error().what.find(row.want), std::string::npos) << bad.error().what;
  }
}

TEST(EnergyFrontier, AStoppedSearchKeepsWhatItHas) {
  Schedule schedule = *pipeline::generate("1f1b", {.stages = 8, .micro_batches = 32});
  ASSERT_TRUE(apply_costs(schedule, even_costs(schedule, {1, 1, 1, 400})).ok());
  schedule.idle_watts = 100;
  const ClockTable table = model_clocks(schedule, {{1, 0.9, 0.8, 0.7}, 1, 400, 100});
  const auto whole = energy_frontier(schedule, table, 9);
  ASSERT_TRUE(whole.ok());
  EXPECT_FALSE(whole->stopped);
  double last = 0;
  const auto half = energy_frontier(schedule, table, 9, {}, [&](double part) {
    EXPECT_GE(part, last);
    last = part;
    return part < 0.7;
  });
  ASSERT_TRUE(half.ok()) << half.error().text();
  EXPECT_TRUE(half->stopped);
  ASSERT_LT(half->points.size(), whole->points.size());
  // From the cheap end the points are the same.
  for (std::size_t k = 1; k <= half->points.size(); ++k) {
    EXPECT_DOUBLE_EQ(half->points[half->points.size() - k].joules,
                     whole->points[whole->points.size() - k].joules);
  }
  EXPECT_FALSE(energy_frontier(schedule, table, 9, {}, [](double) { return false; }).ok());
}

}  // namespace
}  // namespace weft::planner
