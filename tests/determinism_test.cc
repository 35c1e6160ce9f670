// The same input gives the same decisions: run again, with other threads, beside other runs.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/delimited.h"
#include "sim/random_case_testing.h"
#include "tests/cross_testing.h"

namespace weft {
namespace {

const std::string kTrace = " --trace " + fixture("traces/philly_sixty.csv");

std::string decisions(const Scratch& scratch, const std::string& words) {
  const std::string path = scratch.path("decisions.txt");
  const CommandResult result = run_weft(scratch, "sim " + words + " --decisions " + path);
  EXPECT_EQ(result.code, 0) << result.err;
  return slurp(path);
}

TEST(Determinism, DecisionLogIsTheSameWithOneThreadAndWithTwo) {
  const Scratch scratch;
  for (const char* policy : {"fifo", "srtf", "2d-las"}) {
    for (const char* world : {"",
                              " --delay 3 --loss 0.1 --duplication 0.2 --refusal 0.1"
                              " --node-mtbf 20000 --repair 300 --checkpoint-interval 60"}) {
      const std::string words =
          std::string("--cluster 3x8 --policy ") + policy + kTrace + std::string(world);
      const std::string one = decisions(scratch, words + " --threads 1");
      EXPECT_GT(std::count(one.begin(), one.end(), '\n'), 180) << policy;
      EXPECT_EQ(one, decisions(scratch, words + " --threads 2")) << policy;
      EXPECT_EQ(one, decisions(scratch, words + " --threads 1")) << policy << ", run again";
      if (*world != '\0') {
        EXPECT_NE(one, decisions(scratch, words + " --seed 2")) << "the seed changes nothing";
      }
    }
  }
}

TEST(Determinism, PerJobOutputOfASweepDoesNotDependOnThreads) {
  const Scratch scratch;
  const auto jobs = [&](const std::string& threads) {
    const std::string path = scratch.path("jobs.csv");
    const CommandResult result = run_weft(
        scratch, "sim --cluster 3x8 --cluster 4x8 --policy fifo,sjf,las --seeds 2 --delay 2" +
                     kTrace + " --jobs-out " + path + " --threads " + threads);
    EXPECT_EQ(result.code, 0) << result.err;
    return slurp(path);
  };
  const std::string one = jobs("1");
  EXPECT_EQ(std::count(one.begin(), one.end(), '\n'), 1 + 60 * 2 * 3 * 2);
  EXPECT_EQ(one, jobs("2"));
}

TEST(Determinism, ReplicateCopiesEveryJobOfACluster) {
  // Two copies on twice the nodes: under fifo with whole nodes each copy could have the first's
  // times, and on the same nodes the work of both must be done one after the other.
  const std::vector<JobRow> rows = {{0, 8, 100}, {10, 8, 50}, {20, 8, 70}};
  const Trace trace = testing_trace(rows);
  const std::unique_ptr<Policy> policy = testing_policy("fifo");
  SimOptions options = testing_options();
  const Cluster small = testing_cluster("1x8"), large = testing_cluster("3x8");
  Result<RunResult> once = run_trace(small, trace, *policy, options);
  options.replicate = 3;
  Result<RunResult> thrice = run_trace(large, trace, *policy, options);
  Result<RunResult> crowded = run_trace(small, trace, *policy, options);
  ASSERT_TRUE(once.ok() && thrice.ok() && crowded.ok());
  ASSERT_EQ(thrice->records.size(), 9u);
  for (size_t i = 0; i < 9; ++i) {
    EXPECT_EQ(thrice->records[i].submit, once->records[i / 3].submit);
    EXPECT_EQ(thrice->records[i].end, once->records[i / 3].end);
  }
  EXPECT_EQ(crowded->makespan_s, 3 * 220);
}

TEST(Determinism, EveryPolicyRepeatsItself) {
  for (const Composition& composition : known_policies()) {
    const std::unique_ptr<Policy> policy = testing_policy(composition.name);
    const RandomCase world = make_random_case(4242);
    Result<RunResult> one = run_trace(world.cluster, world.trace, *policy, world.options);
    Result<RunResult> two = run_trace(world.cluster, world.trace, *policy, world.options);
    ASSERT_TRUE(one.ok() && two.ok()) << composition.name;
    EXPECT_EQ(one->events, two->events) << composition.name;
    for (size_t i = 0; i < one->records.size(); ++i) {
      EXPECT_EQ(one->records[i].first_start, two->records[i].first_start) << composition.name;
      EXPECT_EQ(one->records[i].end, two->records[i].end) << composition.name;
    }
  }
}

}  // namespace
}  // namespace weft
