// Each list policy on a handful of jobs, computed by hand.
#include <gtest/gtest.h>

#include "sim/sim_testing.h"

namespace weft {
namespace {

constexpr const char* kAnyBackfill = "base: fifo\nallocate: {part: list, backfill: any}\n";
constexpr const char* kPoliteUrgency = "base: priority\nallocate: {part: list, preempt: no}\n";

// a takes 3 of 4 devices until 100; b wants all 4; c is narrow and long, d narrow and short.
const std::vector<JobRow> kWideInTheWay = {{0, 3, 100}, {1, 4, 100}, {2, 1, 200}, {3, 1, 50}};
// One device; each later job is shorter.
const std::vector<JobRow> kShorterAndShorter = {{0, 1, 100}, {10, 1, 50}, {20, 1, 20}};
// a would hold everything for 5000 s; b is as wide; c is half as wide and short.
const std::vector<JobRow> kLongBeforeShort = {{0, 4, 5000}, {100, 4, 1000}, {2000, 2, 300}};
// Two devices. a is wide and unimportant, c wide and urgent; d (second row) as unimportant as a.
const std::vector<JobRow> kUrgentLater = {
    {0, 2, 100, 0}, {5, 1, 10, 0}, {10, 1, 50, 1}, {20, 2, 30, 2}};

const std::vector<ScenarioRow> kListPolicies = {
    {"the wide job blocks both narrow ones",
     "1x4",
     "fifo",
     kWideInTheWay,
     {0, 100, 200, 200},
     {100, 200, 400, 250},
     {"backfill", kAnyBackfill}},
    {"only the narrow job that ends before the reservation passes",
     "1x4",
     "backfill",
     kWideInTheWay,
     {0, 100, 200, 3},
     {100, 200, 400, 53},
     {"fifo", kAnyBackfill}},
    {"every narrow job passes, and the wide one waits for them",
     "1x4",
     kAnyBackfill,
     kWideInTheWay,
     {0, 202, 2, 100},
     {100, 302, 202, 150},
     {"fifo", "backfill"}},
    {"the shortest waiting job is next, the running one is left alone",
     "1x1",
     "sjf",
     kShorterAndShorter,
     {0, 120, 100},
     {100, 170, 120},
     {"fifo", "srtf"}},
    {"a shorter newcomer takes the device, longer ones resume where they were",
     "1x1",
     "srtf",
     kShorterAndShorter,
     {0, 10, 20},
     {170, 80, 40},
     {"fifo", "sjf"}},
    {"a job sinks after 3250 s of run time, whatever its width",
     "1x4",
     "las",
     kLongBeforeShort,
     {0, 3250, 4250},
     {6300, 4250, 4550},
     {"fifo", "2d-las"}},
    {"a job four devices wide sinks after a quarter of that",
     "1x4",
     "2d-las",
     kLongBeforeShort,
     {0, 812.5, 2000},
     {6300, 1812.5, 2300},
     {"fifo", "las"}},
    {"urgent jobs take devices back, and the head of the rest blocks",
     "1x2",
     "priority",
     kUrgentLater,
     {0, 180, 10, 20},
     {180, 190, 90, 50},
     {"fifo", kPoliteUrgency}},
};

TEST(Scenario, ListPolicies) {
  for (const ScenarioRow& row : kListPolicies) expect_scenario(row);
}

// Nobody says how long the jobs take: `history` has seen none end.
TEST(Scenario, WithoutEstimatesNobodyMayDelayTheHead) {
  const auto on = [](TypeId type) {
    return [type](Submission&, Menu& menu, Truth&) { menu.configurations.front().type = type; };
  };
  ScenarioRow row{"c would fit beside a, but the end of a is not known",
                  "1x4",
                  "backfill",
                  {{0, 2, 100}, {1, 4, 50}, {2, 1, 500}},
                  {0, 100, 150},
                  {},
                  {kAnyBackfill}};
  row.options.estimates.kind = EstimateMode::Kind::kHistory;
  expect_scenario(row);
  row = {"c needs devices that the head has no use for",
         "p:1x4,q:1x4",
         "backfill",
         {{0, 2, 100, 0, kNever, 0, -1, on(0)},
          {1, 4, 50, 0, kNever, 0, -1, on(0)},
          {2, 1, 500, 0, kNever, 0, -1, on(1)}},
         {0, 100, 2},
         {},
         {"fifo"}};
  row.options.estimates.kind = EstimateMode::Kind::kHistory;
  expect_scenario(row);
  row = {"while a node is out the head could not run on all of the rest, so b and c go on",
         "2x2",
         "backfill",
         {{10, 4, 50}, {11, 1, 20}, {12, 1, 5}},
         {100, 11, 12},
         {},
         {"fifo"}};
  row.options.faults.recorded = {{5, 0, 95, 0}};
  expect_scenario(row);
  const auto service = [](Submission& job, Menu& menu, Truth& truth) {
    job.kind = WorkloadKind::kService;
    menu.configurations.front().rate = 10;
    truth.load = {{0, 5}};
    truth.service_end = 100;
  };
  expect_scenario({"a service holds what the head needs, and nobody knows until when",
                   "1x2",
                   "backfill",
                   {{0, 1, 0, 0, kNever, 0, -1, service}, {1, 2, 50}, {2, 1, 20}},
                   {0, 100, 2},
                   {},
                   {"fifo"}});
}

TEST(Scenario, BeliefsDecideTheOrderAndTruthTheEnd) {
  // b is believed short and is long: sjf runs it first all the same.
  expect_scenario({"a wrong estimate misleads sjf",
                   "1x1",
                   "sjf",
                   {{0, 1, 10}, {1, 1, 500, 0, kNever, 0, /*estimate=*/5}, {2, 1, 20}},
                   {0, 10, 510},
                   {10, 510, 530},
                   {}});
}

TEST(Scenario, ARestartCostsTimeAndACleanStopLosesNothing) {
  ScenarioRow row{"a pays 7 s when it resumes", "1x1",   "srtf",
                  {{0, 1, 100}, {10, 1, 50}},   {0, 10}, {157, 60}};
  row.options.restart_cost = 7;
  expect_scenario(row);
}

TEST(Scenario, AJobLoadsAtEveryStart) {
  const auto loads = [](Submission&, Menu&, Truth& truth) { truth.loading = 5; };
  ScenarioRow row{"a loads for 5 s before its first progress, and again when it resumes",
                  "1x1",
                  "srtf",
                  {{0, 1, 100, 0, kNever, 0, -1, loads}, {10, 1, 50}},
                  {0, 10},
                  {100 + 5 + 50 + 5 + 7, 60}};
  row.options.restart_cost = 7;
  expect_scenario(row);
}

TEST(Scenario, ReplayRulesAtEqualTimes) {
  expect_scenario({"completions come before arrivals",
                   "1x2",
                   "fifo",
                   {{0, 2, 10}, {10, 2, 5}},
                   {0, 10},
                   {10, 15}});
  expect_scenario({"sjf ties go to the earlier job",
                   "1x1",
                   "sjf",
                   {{0, 1, 10}, {1, 1, 5}, {2, 1, 5}},
                   {0, 10, 15},
                   {},
                   {}});
  expect_scenario({"ten devices are one whole node and two of another",
                   "2x8",
                   "fifo",
                   {{0, 7, 10}, {0, 10, 10}, {1, 1, 10}},
                   {0, 10, 10},
                   {10, 20, 20}});
}

}  // namespace
}  // namespace weft
