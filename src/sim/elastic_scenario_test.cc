// Elastic policies on jobs few enough to follow by hand. Decisions fall on multiples of the round.
#include <algorithm>
#include <map>

#include "sim/sim_testing.h"

namespace weft {
namespace {

// Speed on 1, 2 and 4 devices; work is counted in seconds on one.
std::function<void(Submission&, Menu&, Truth&)> speeds(double two, double four = 0) {
  return [=](Submission& submission, Menu& menu, Truth&) {
    submission.elastic = true;
    menu.configurations.resize(four > 0 ? 3 : 2, menu.configurations.front());
    menu.configurations[1].devices = 2;
    menu.configurations[1].rate = two;
    if (four > 0) menu.configurations[2].devices = 4;
    if (four > 0) menu.configurations[2].rate = four;
  };
}

JobRow elastic(Seconds submit, Seconds work, double two, double four = 0) {
  JobRow row;
  row.submit = submit;
  row.duration = work;
  row.edit = speeds(two, four);
  return row;
}

// 0 s: values 1.1 - s^-0.5 are .100 .375 .468 for a and .100 .187 .223 for b: two devices each.
// 60 s: c, which needs 4 devices, is worth 1.1 - 4^-0.5 = .600, more than a and b together.
// 180 s: a and b again. 360 s: a has had one restart, so a change counts (360 - 30) / 390 of its
// speed: .412 for four devices against .375 for the two it holds.
TEST(SiaScenario, AnUnsplittableJobIsWorthItsDevices) {
  expect_scenario({"a gang of 4 beats two gangs of 2",
                   "1x4",
                   "sia",
                   {elastic(0, 720, 1.9, 2.5), elastic(0, 240, 1.2, 1.3), {10, 4, 100}},
                   {0, 0, 60},
                   {465.6, 320, 160},
                   {"fifo", "pollux", "optimus"}});
}

// Two jobs with devices are better than one, so c waits until b is done (200 s, seen at 240 s).
// Then speedups over an equal share are 2 for c and 1.17 for a on four devices, restart counted.
TEST(PolluxScenario, ManyOverFew) {
  expect_scenario({"two gangs of 2 beat a gang of 4",
                   "1x4",
                   "pollux",
                   {elastic(0, 720, 1.9, 2.5), elastic(0, 240, 1.2, 1.3), {10, 4, 100}},
                   {0, 0, 240},
                   {465.6, 200, 340},
                   {"fifo", "sia", "optimus"}});
}

TEST(OptimusScenario, ShortestRemainingTimeAtEachRound) {
  expect_scenario({"the shortest first, ten minutes apart",
                   "1x1",
                   "optimus",
                   {{0, 1, 1000}, {0, 1, 700}, {0, 1, 500}},
                   {1800, 600, 0},
                   {2800, 1300, 500},
                   {"fifo", "sjf", "afs", "sia"}});
}

// a gains 150 s from a second device, b 284 s; both have one, and b alone could use two more.
TEST(OptimusScenario, DevicesGoWhereTheyShortenMost) {
  expect_scenario({"two each",
                   "1x4",
                   "optimus",
                   {elastic(0, 900, 1.2), elastic(0, 600, 1.9, 3.6)},
                   {0, 0},
                   {750, 600 / 1.9}});
}

// 0 s: b, the shorter, has the first device, a the second; a's next is worth .9/1.9 of its speed
// and b's .2/1, so a has the third and b the fourth. 120 s: b is gone and c, now shorter than a
// (600 against 972), takes all. 720 s: a alone.
TEST(AfsScenario, TheShorterUnlessTheLongerGainsMore) {
  expect_scenario({"short first, efficient next",
                   "1x4",
                   "afs",
                   {elastic(0, 1200, 1.9, 3.6), elastic(0, 120, 1.2), {10, 4, 600}},
                   {0, 0, 120},
                   {990, 100, 720},
                   {"fifo", "optimus", "sia"}});
}

// Every start of every job, in devices.
class Gangs : public Journal {
 public:
  void command(Seconds, const Command& command) override {
    if (command.kind == CommandKind::kStart) {
      sizes[command.job].push_back(command.allocation->devices.size());
    }
  }
  std::map<JobId, std::vector<size_t>> sizes;
};

TEST(SiaProperty, GangsAtMostDouble) {
  const Cluster cluster = testing_cluster("fast:3x4,slow:2x2");
  TraceOptions options;
  options.profiles = std::string(WEFT_FIXTURES) + "/sia";
  Result<Trace> trace = read_trace(options.profiles + "/workload-tiny.csv", cluster, options);
  ASSERT_TRUE(trace.ok()) << trace.error().text();
  bool grew = false;
  for (const char* name : {"sia", "optimus", "afs"}) {
    const auto policy = testing_policy(name);
    Gangs gangs;
    Result<RunResult> result = run_trace(cluster, *trace, *policy, SimOptions{}, &gangs);
    ASSERT_TRUE(result.ok()) << result.error().text();
    for (const auto& [job, sizes] : gangs.sizes) {
      size_t largest = 1;
      EXPECT_EQ(sizes.front(), 1U) << name << ": nothing is known of a new job";
      for (size_t size : sizes) {
        EXPECT_LE(size, 2 * largest) << name << ", job " << job;
        grew |= size > 1;
        largest = std::max(largest, size);
      }
    }
  }
  EXPECT_TRUE(grew);
}

}  // namespace
}  // namespace weft
