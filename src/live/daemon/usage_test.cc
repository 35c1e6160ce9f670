#include "live/daemon/usage.h"

#include <gtest/gtest.h>

namespace weft::live {
namespace {

// Two nodes of two devices; a device of the second costs 2 an hour, and 4 from 1000 s on.
Cluster two_nodes() {
  Cluster cluster = *parse_cluster_shorthand("2x2");
  cluster.prices = {{{0, 0}}, {{0, 2}, {1000, 4}}};
  cluster.nodes[0].price = 0;
  cluster.nodes[1].price = 1;
  return cluster;
}

class UsageHistory {
 public:
  UsageHistory() : fold(cluster) {}
  void start(Seconds at, JobId job, std::uint32_t epoch, std::vector<DeviceId> devices,
             std::uint32_t milli = kWhole, CommandKind kind = CommandKind::kStart) {
    KeptCommand c{kind, job, epoch, ++number, kNever, {}};
    for (const DeviceId device : devices) {
      DeviceShare share;
      share.device = device;
      share.milli = static_cast<decltype(share.milli)>(milli);
      c.allocation.devices.push_back(share);
    }
    step(at, c);
  }
  void stop(Seconds at, JobId job, std::uint32_t epoch) {
    step(at, {CommandKind::kStop, job, epoch, ++number, kNever, {}});
  }
  void tell(Seconds at, EventKind kind, JobId job, std::uint32_t epoch,
            Outcome outcome = Outcome::kDone, NodeId node = kNoNode) {
    EventRecord record;
    record.event.node = node;
    record.event.at = at;
    record.event.kind = kind;
    record.event.job = job;
    record.event.epoch = epoch;
    record.event.number = number;
    record.event.outcome = outcome;
    EXPECT_TRUE(fold.take({++seq, RecordKind::kEvent, at, to_bytes(record)}).ok());
  }

  Cluster cluster = two_nodes();
  UsageFold fold;
  std::uint32_t number = 0;

 private:
  void step(Seconds at, const KeptCommand& c) {
    StepRecord step;
    step.at = at;
    step.commands = {c};
    EXPECT_TRUE(fold.take({++seq, RecordKind::kStep, at, to_bytes(step)}).ok());
  }
  std::uint64_t seq = 0;
};

TEST(Usage, AJobPaysFromItsStartToItsEnd) {
  UsageHistory tale;
  tale.start(100, 0, 1, {2, 3});
  tale.tell(101, EventKind::kOutcome, 0, 1);
  tale.tell(460, EventKind::kFinished, 0, 1);
  const auto all = tale.fold.between(0, 1e9);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_DOUBLE_EQ(all.at(0).device_s, 720);
  EXPECT_DOUBLE_EQ(all.at(0).cost, 720.0 / 3600 * 2);
  EXPECT_DOUBLE_EQ(tale.fold.between(400, 450).at(0).device_s, 100) << "only what was asked for";
  EXPECT_TRUE(tale.fold.between(460, 1e9).empty());
}

TEST(Usage, PricesChangeWhileAJobRuns) {
  UsageHistory tale;
  tale.start(900, 0, 1, {0, 2});
  const Usage used = tale.fold.between(0, 1100).at(0);
  EXPECT_DOUBLE_EQ(used.device_s, 400) << "it still runs";
  EXPECT_DOUBLE_EQ(used.cost, (100.0 * 2 + 100.0 * 4) / 3600) << "the first node is free";
}

TEST(Usage, PartsOfDevicesArePaidInPart) {
  UsageHistory tale;
  tale.start(0, 0, 1, {0}, 250);
  tale.start(100, 0, 1, {0}, 500, CommandKind::kResize);
  EXPECT_DOUBLE_EQ(tale.fold.between(0, 200).at(0).device_s, 75);
}

TEST(Usage, WhatIsLostWithItsNodeIsPaidNoLonger) {
  UsageHistory tale;
  tale.start(0, 0, 1, {0, 1, 2});
  tale.tell(10, EventKind::kLost, 0, 1, Outcome::kDone, 1);
  EXPECT_DOUBLE_EQ(tale.fold.between(0, 100).at(0).device_s, 2 * 100 + 10);
  tale.tell(20, EventKind::kLost, 0, 1, Outcome::kDone, 0);
  EXPECT_DOUBLE_EQ(tale.fold.between(0, 100).at(0).device_s, 2 * 20 + 10);
}

TEST(Usage, WhatEndsAStay) {
  struct Case {
    const char* what;
    std::function<void(UsageHistory&)> end;
    double device_s;
  };
  const Case cases[] = {
      {"a crash", [](UsageHistory& t) { t.tell(10, EventKind::kCrashed, 0, 1); }, 10},
      {"a cancellation", [](UsageHistory& t) { t.tell(10, EventKind::kWithdraw, 0, 0); }, 10},
      {"a start that failed",
       [](UsageHistory& t) { t.tell(10, EventKind::kOutcome, 0, 1, Outcome::kFailed); }, 10},
      {"not the crash of an earlier run",
       [](UsageHistory& t) { t.tell(10, EventKind::kCrashed, 0, 7); }, 100},
      {"a stop, when it is confirmed",
       [](UsageHistory& t) {
         t.stop(5, 0, 1);
         t.tell(20, EventKind::kOutcome, 0, 1);
       },
       20},
      {"not another's end", [](UsageHistory& t) { t.tell(10, EventKind::kFinished, 1, 1); }, 100},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.what);
    UsageHistory tale;
    tale.start(0, 0, 1, {0});
    c.end(tale);
    EXPECT_DOUBLE_EQ(tale.fold.between(0, 100).at(0).device_s, c.device_s);
  }
}

}  // namespace
}  // namespace weft::live
