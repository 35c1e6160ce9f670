#include "live/daemon/budget_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::live {
namespace {

using testing::HasSubstr;

TEST(BudgetFile, SaysWhoMaySpendWhatAndWhen) {
  const auto table = parse_budgets(
      "users:\n  ann: {cost: 12.5}\n  bob: {device_hours: 50, period: 7d, action: hold}\n"
      "  \"*\": {cost: 0}\nqueues:\n  research: {cost: 1e3, device_hours: 9, period: month}\n"
      "  old: {cost: 3, period: total}\nperiod: 30d\naction: stop\n",
      "b.yaml");
  ASSERT_TRUE(table.ok()) << table.error().text();
  const Budget& ann = *BudgetTable::find(table->users, "ann");
  EXPECT_EQ(ann.cost, 12.5);
  EXPECT_EQ(ann.device_hours, kNever);
  EXPECT_EQ(ann.period, Budget::Period::kEvery);
  EXPECT_EQ(ann.every, 30 * kDay) << "what stands outside holds, also from below";
  EXPECT_TRUE(ann.stops);
  const Budget& bob = *BudgetTable::find(table->users, "bob");
  EXPECT_EQ(bob.device_hours, 50);
  EXPECT_EQ(bob.every, 7 * kDay);
  EXPECT_FALSE(bob.stops);
  EXPECT_EQ(BudgetTable::find(table->users, "eve")->cost, 0) << "everybody else";
  EXPECT_EQ(BudgetTable::find(table->queues, "research")->period, Budget::Period::kMonth);
  EXPECT_EQ(BudgetTable::find(table->queues, "default"), nullptr);
}

TEST(BudgetFile, KnowsHowMuchOfTheJournalItNeeds) {
  struct Row {
    const char* yaml;
    Seconds back;
  };
  const Row rows[] = {
      {"users: {ann: {cost: 1, period: 7d}, bob: {cost: 1, period: 2d}}", 7 * kDay},
      {"users: {ann: {cost: 1, period: 7d}}\nqueues: {a: {cost: 1, period: month}}", 31 * kDay},
      {"users: {ann: {cost: 1, period: 90d}}\nqueues: {a: {cost: 1}}", kNever},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(parse_budgets(row.yaml, "b.yaml")->looks_back(), row.back) << row.yaml;
  }
}

TEST(BudgetFile, EveryMistakeIsToldWithItsLine) {
  struct Row {
    const char *yaml, *wrong;
  };
  const Row rows[] = {
      {"3", "b.yaml:1: must be a map"},
      {"", "b.yaml:1: must be a map"},
      {"period: 30d", "has no budget"},
      {"user: {ann: {cost: 1}}", "'user' is not known; users, queues, period and action are"},
      {"users: []", "b.yaml:1: users must be a map of 1 to 10000 names"},
      {"users:\n  ann: 3", "b.yaml:2: user ann needs cost or device_hours"},
      {"users:\n  ann: {period: 1d}", "needs cost or device_hours"},
      {"users:\n  ann: {cost: -1}", "b.yaml:2: cost is '-1'; it must be a number from 0"},
      {"users:\n  ann: {cost: much}", "cost is 'much'"},
      {"users:\n  ann: {cost: .nan}", "cost is '.nan'"},
      {"users:\n  ann: {device_hours: [1]}", "device_hours is ''"},
      {"users:\n  ann: {cost: 1, period: weekly}", "period is 'weekly'; it must be total, month"},
      {"users:\n  ann: {cost: 1, period: 1s}", "period is '1s'"},
      {"users:\n  ann: {cost: 1, action: kill}", "action is 'kill'; it must be hold or stop"},
      {"users:\n  ann: {cost: 1, cots: 2}", "'cots' is no field of a budget"},
      {"users:\n  ann: {cost: 1, cost: 2}", "'cost' is there twice"},
      {"users:\n  ann: {cost: 1}\n  ann: {cost: 2}", "b.yaml:3: user ann is there twice"},
      {"users: {a: {cost: 1}}\nusers: {b: {cost: 1}}", "b.yaml:2: 'users' is there twice"},
      {"queues:\n  -a: {cost: 1}", "'-a' is no name of a queue"},
      {"users:\n  [a]: {cost: 1}", "'' is no name of a user"},
      {"users: [", "b.yaml:"},
  };
  for (const Row& row : rows) {
    const auto table = parse_budgets(row.yaml, "b.yaml");
    ASSERT_FALSE(table.ok()) << row.yaml;
    EXPECT_THAT(table.error().text(), HasSubstr(row.wrong)) << row.yaml;
  }
  const auto all = parse_budgets("period: 0\nusers:\n  ann: {cost: x}\n  bob: {action: y}\n", "b");
  ASSERT_FALSE(all.ok());
  for (const char* wrong : {"b:1: period", "b:3: cost", "b:4: action", "b:4: user bob needs"}) {
    EXPECT_THAT(all.error().text(), HasSubstr(wrong));
  }
}

}  // namespace
}  // namespace weft::live
