// Gavel's objectives on a handful of jobs, computed by hand. Rounds last 360 s; in each, jobs are
// served by share over time received (180 s to begin with), ties by submission.
#include "base/random.h"
#include "sim/sim_testing.h"

namespace weft {
namespace {

// Shares computed anew in every round in which jobs came or went.
std::string eager(const std::string& policy, const std::string& objective) {
  return "base: " + policy + "\nallocate: {part: share, objective: " + objective +
         ", refresh: 360}\n";
}

JobRow job(Seconds submit, std::uint32_t devices, double rate, double work,
           Seconds deadline = kNever) {
  JobRow row{submit, devices, work, 0, deadline};
  row.estimate = work / rate;
  row.edit = [rate](Submission&, Menu& menu, Truth&) { menu.configurations[0].rate = rate; };
  return row;
}

// At 360 a has run alone and all shares would be equal. The ratios of finish time to that on an
// equal share are (360 + 720/x) / (360 + 2160) for a, (350 + 360/x) / 1080 for b and
// (60 + 3600/x) / 10800 for c; they are equal at shares .29, .41 and .30. At 720 b is done, and a
// (720 s old) should have .53, c .46; a has its second round, then c its first.
TEST(FinishTimeFair, WhoWaitedLongForItsLengthIsNext) {
  expect_scenario({"b first, though a came first",
                   "1x1",
                   eager("finish-time-fair", "finish-time"),
                   {{0, 1, 1080}, {10, 1, 360}, {300, 1, 3600}},
                   {0, 360, 1080},
                   {},
                   {"fifo", eager("max-min", "max-min"), eager("makespan", "makespan")}});
}

// 1440 s of work for two devices: c needs one all the time, a and b half of the other each.
TEST(Makespan, TheLongestNeverWaits) {
  expect_scenario({"b waits, not c",
                   "1x2",
                   "makespan",
                   {{0, 1, 360}, {0, 1, 360}, {0, 1, 720}},
                   {0, 360, 0},
                   {360, 720, 720},
                   {"fifo", "max-min", "max-throughput"}});
}

// Both devices to c make 3 a second, one each to a and b make 2.
const std::vector<JobRow> kWideAndFast = {job(0, 1, 1, 720), job(0, 1, 1, 720), job(0, 2, 3, 2160)};

TEST(MaxThroughput, TheLargestSumOfSpeeds) {
  expect_scenario({"the fast gang first",
                   "1x2",
                   "max-throughput",
                   kWideAndFast,
                   {720, 720, 0},
                   {1440, 1440, 720},
                   {"fifo", "min-cost", "makespan"}});
}

// For the money of one device a gives 1.5 a second, b and c give 1 each, but two of them fit.
TEST(MinCost, TheMostWorkForTheMoney) {
  expect_scenario({"two narrow jobs before a wide one",
                   "1x2",
                   "min-cost",
                   {job(0, 2, 3, 2160), job(0, 1, 1, 720), job(0, 1, 1, 720)},
                   {720, 0, 0},
                   {1440, 720, 720},
                   {"fifo", "max-throughput", "finish-time-fair"}});
}

// b needs .98 of the device to end by 1100, and a has twice its speed for the same money.
TEST(MinCostDeadline, ADeadlineBeatsTheMoney) {
  expect_scenario({"b first, it is due",
                   "1x1",
                   "min-cost-deadline",
                   {job(0, 1, 2, 1440), job(0, 1, 1, 1080, 1100)},
                   {1080, 0},
                   {1800, 1080},
                   {"fifo", "min-cost", "max-min"}});
}

// Speeds are 5 and 2 for a, 3 and 1 for b: a on the fast device makes 5 + 1, b there 2 + 3. But the
// fast device costs three times as much, and 5/3 + 1 is less than 2 + 3/3. Who is left alone moves
// to the fast device with the next round.
TEST(MinCost, PricesMoveJobsBetweenTypes) {
  const auto typed = [](double fast, double slow) {
    JobRow row{0, 1, 3600};
    row.edit = [=](Submission&, Menu& menu, Truth&) {
      menu.configurations.resize(2);
      menu.configurations[0].type = 0;
      menu.configurations[0].rate = fast;
      menu.configurations[1].type = 1;
      menu.configurations[1].rate = slow;
    };
    return row;
  };
  Cluster cluster = testing_cluster("fast:1x1,slow:1x1");
  cluster.prices = {{{0, 3.0}}, {{0, 1.0}}};
  cluster.nodes[0].price = 0;
  cluster.nodes[1].price = 1;
  const Trace trace = testing_trace({typed(5, 2), typed(3, 1)});
  SimOptions options;
  const auto cheap = run_trace(cluster, trace, *testing_policy("min-cost"), options);
  const auto quick = run_trace(cluster, trace, *testing_policy("max-throughput"), options);
  ASSERT_TRUE(cheap.ok() && quick.ok());
  EXPECT_EQ(quick->records[0].end, 720);
  EXPECT_EQ(quick->records[1].end, 720 + 960);
  EXPECT_DOUBLE_EQ(quick->cost, (720 * 3 + 960 * 3 + 720) / 3600.0);
  EXPECT_EQ(cheap->records[0].end, 1440 + 144);
  EXPECT_EQ(cheap->records[1].end, 1200);
  EXPECT_DOUBLE_EQ(cheap->cost, (1200 * 3 + 144 * 3 + 1440) / 3600.0);
}

// With one type there is nothing to know about types.
TEST(TimeShareProperty, OnOneTypeKnowingTypesChangesNothing) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    Random random(seed);
    std::vector<JobRow> rows;
    Seconds at = 0;
    for (int i = 0; i < 20; ++i) {
      at += random.exponential(400);
      const double work = random.log_normal(7, 1);
      rows.push_back(job(at, 1u << random.below(3), random.uniform(0.5, 2), work,
                         random.chance(0.5) ? at + 5 * work : kNever));
    }
    const Trace trace = testing_trace(rows);
    const Cluster cluster = testing_cluster("2x4");
    for (const char* name : {"max-min", "finish-time-fair", "makespan", "max-throughput",
                             "min-cost", "min-cost-deadline"}) {
      const auto aware = run_trace(cluster, trace, *testing_policy(name), SimOptions{});
      const auto agnostic =
          run_trace(cluster, trace, *testing_policy(std::string(name) + "-agnostic"), SimOptions{});
      ASSERT_TRUE(aware.ok() && agnostic.ok());
      for (size_t i = 0; i < rows.size(); ++i) {
        EXPECT_EQ(aware->records[i].end, agnostic->records[i].end) << name << ", seed " << seed;
      }
    }
  }
}

}  // namespace
}  // namespace weft
