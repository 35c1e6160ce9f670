#include "live/daemon/spending.h"

#include <gtest/gtest.h>

namespace weft::live {
namespace {

using Kind = Spending::Kind;

constexpr double kNovember = 1'793'491'200;  // 2026-11-01, UTC

// One node of four devices that cost 2 an hour each; jobs 0 and 1 are ann's in `a`, others bob's in
// `b`.
class SpendingHistory {
 public:
  explicit SpendingHistory(const std::string& budgets)
      : spending(cluster, parse_budgets(budgets, "b.yaml").value(), [](JobId job) {
          return std::optional(job < 2 ? std::pair<std::string, std::string>{"ann", "a"}
                                       : std::pair<std::string, std::string>{"bob", "b"});
        }) {}
  void start(Seconds at, JobId job, std::uint32_t devices) {
    StepRecord step;
    step.at = at;
    KeptCommand c{CommandKind::kStart, job, 1, 1, kNever, {}};
    for (DeviceId device = 0; device < devices; ++device) c.allocation.devices.push_back({device});
    step.commands = {c};
    EXPECT_TRUE(spending.take({++seq, RecordKind::kStep, at, to_bytes(step)}).ok());
  }
  void finish(Seconds at, JobId job) {
    EventRecord record;
    record.event.at = at;
    record.event.kind = EventKind::kFinished;
    record.event.job = job;
    record.event.epoch = 1;
    EXPECT_TRUE(spending.take({++seq, RecordKind::kEvent, at, to_bytes(record)}).ok());
  }
  const Spending::Account& look(Seconds now, Kind kind, const std::string& name) {
    spending.count(now, kNovember + now);
    return spending.accounts().at({kind, name});
  }

  Cluster cluster = [] {
    Cluster one = *parse_cluster_shorthand("1x4");
    one.prices = {{{0, 2}}};
    one.nodes[0].price = 0;
    return one;
  }();
  Spending spending;
  std::uint64_t seq = 0;
};

TEST(Spending, CountsWhatRunsAndWhatHasEndedOnce) {
  SpendingHistory tale("users: {ann: {cost: 10}}\nqueues: {a: {device_hours: 4}, b: {cost: 1}}");
  tale.start(0, 0, 1);
  EXPECT_DOUBLE_EQ(tale.look(kHour, Kind::kUser, "ann").spent.cost, 2);
  EXPECT_FALSE(tale.look(kHour, Kind::kQueue, "a").is_over());
  tale.finish(1.5 * kHour, 0);
  tale.start(2 * kHour, 1, 2);
  tale.start(2 * kHour, 2, 1);
  for (int again = 0; again < 3; ++again) {
    EXPECT_DOUBLE_EQ(tale.look(3 * kHour, Kind::kUser, "ann").spent.cost, 3 + 4) << again;
  }
  EXPECT_DOUBLE_EQ(tale.look(3.25 * kHour, Kind::kQueue, "a").spent.device_s, 4 * kHour);
  EXPECT_TRUE(tale.look(3.25 * kHour, Kind::kQueue, "a").is_over()) << "when it is spent";
  EXPECT_DOUBLE_EQ(tale.look(3.25 * kHour, Kind::kQueue, "b").spent.cost, 2.5);
  EXPECT_FALSE(tale.spending.accounts().contains({Kind::kUser, "bob"})) << "has no budget";
}

TEST(Spending, BeginsAnewWithEachPeriod) {
  struct Row {
    const char *what, *period;
    Seconds at, from;
    double hours;  // of the one device that ann has all the time
  };
  const Row rows[] = {
      {"the first day", "1d", 10 * kHour, 0, 10},
      {"the second", "1d", kDay + kHour, kDay, 1},
      {"some days later", "1d", 5 * kDay + 2 * kHour, 5 * kDay, 2},
      {"within a month", "month", 29 * kDay, 0, 29 * 24},
      {"the next month, by the calendar", "month", 31 * kDay, 30 * kDay, 24},
      {"in all", "total", 400 * kDay, 0, 400 * 24},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.what);
    SpendingHistory tale(std::string("users: {ann: {device_hours: 1, period: ") + row.period +
                         "}}");
    tale.start(0, 0, 1);
    tale.look(9 * kHour, Kind::kUser, "ann");
    const Spending::Account& ann = tale.look(row.at, Kind::kUser, "ann");
    EXPECT_DOUBLE_EQ(ann.from, row.from);
    EXPECT_DOUBLE_EQ(ann.spent.device_s, row.hours * kHour);
  }
}

TEST(Spending, KnowsTheSameFromTheWholeJournalAtOnce) {
  const char* const budgets = "users: {\"*\": {cost: 1, period: 1d}}";
  SpendingHistory often(budgets), once(budgets);
  for (int hour = 0; hour < 60; ++hour) {
    for (SpendingHistory* tale : {&often, &once}) {
      if (hour % 7 == 0) tale->start(hour * kHour, static_cast<JobId>(hour % 3), 1);
      if (hour % 7 == 5) tale->finish(hour * kHour, static_cast<JobId>((hour - 5) % 3));
    }
    often.spending.count((hour + 0.5) * kHour, kNovember);
  }
  for (const char* user : {"ann", "bob"}) {
    EXPECT_NEAR(often.look(59.5 * kHour, Kind::kUser, user).spent.cost,
                once.look(59.5 * kHour, Kind::kUser, user).spent.cost, 1e-9)
        << user;
  }
}

TEST(Spending, SaysWhatWasSpent) {
  Spending::Account account;
  account.budget.cost = 10;
  account.spent = {7.5 * kHour, 12.3};
  EXPECT_EQ(over_text({Kind::kUser, "ann"}, account), "budget of ann: 12.3 of 10 spent");
  account.budget.cost = kNever;
  account.budget.device_hours = 7;
  EXPECT_EQ(over_text({Kind::kQueue, "a"}, account),
            "budget of queue a: 7.5 of 7 device hours spent");
}

}  // namespace
}  // namespace weft::live
