#include "fabric/coflow/engine.h"

#include <cmath>

#include "fabric/coflow/coflow_testing.h"
#include "fabric/coflow/fair.h"
#include "fabric/coflow/lower_bound.h"

namespace weft {
namespace {

constexpr std::uint64_t kEngineSeeds = 40;

CoflowTrace parsed(const std::string& text) {
  auto trace = parse_coflow_trace("test", text);
  EXPECT_TRUE(trace.ok()) << trace.error().text();
  return *trace;
}

// Worked out by hand, with ports of 128 MiB/s.
struct ByHand {
  const char* why;
  const char* policy;
  const char* trace;
  std::vector<double> times;  // of each coflow, in the order of arrival
};

TEST(CoflowEngine, SmallCasesAreAsWorkedOutByHand) {
  const std::vector<ByHand> table = {
      {"a coflow alone takes its busiest port's time", "weft", "3 1\na 0 2 0 1 1 2:256\n", {2}},
      {"fair: two flows into one port halve it until one is through",
       "fair",
       "3 2\na 0 1 0 1 2:128\nb 0 1 1 1 2:256\n",
       {2, 3}},
      {"the smaller bottleneck goes first",
       "sebf",
       "3 2\na 0 1 0 1 2:256\nb 0 1 1 1 2:128\n",
       {3, 1}},
      {"first come, first served", "fifo", "3 2\na 0 1 0 1 2:256\nb 0 1 1 1 2:128\n", {2, 3}},
      {"what is left counts, not what there was",
       "sebf-remaining",
       "3 2\na 0 1 0 1 2:256\nb 1500 1 1 1 2:128\n",
       {2, 1.5}},
      {"the static key sends the late one ahead",
       "sebf",
       "3 2\na 0 1 0 1 2:256\nb 1500 1 1 1 2:128\n",
       {3, 1}},
      {"coflows that share no port do not wait",
       "fifo",
       "4 2\na 0 1 0 1 1:128\nb 0 1 2 1 3:128\n",
       {1, 1}},
      {"aalo: a coflow that has sent 10 MiB makes room for a new one",
       "aalo",
       "3 2\na 0 1 0 1 2:128\nb 500 1 1 1 2:5\n",
       {1 + 5.0 / 128, 5.0 / 128}},
      {"aalo: in a queue first come first served by when they sank into it, not by arrival",
       "aalo",
       "4 4\nc 0 1 0 1 1:8\nd 0 1 0 1 1:8\na 0 1 0 1 2:30\nb 0 1 3 1 2:48\n",
       {8.0 / 128, 16.0 / 128, 78.0 / 128, 58.0 / 128}},
      {"one long coflow waits for two short ones on different ports",
       "sincronia",
       "4 3\na 0 2 0 1 2 2:192 3:192\nb 0 1 0 1 2:128\nc 0 1 1 1 3:128\n",
       {2.5, 1, 1}},
  };
  for (const ByHand& row : table) {
    SCOPED_TRACE(row.why);
    const CoflowRun run = run_policy(parsed(row.trace), row.policy);
    ASSERT_EQ(run.coflows.size(), row.times.size());
    for (std::size_t k = 0; k < row.times.size(); ++k) {
      EXPECT_NEAR(run.coflows[k].time(), row.times[k], 1e-8) << "coflow " << k;
    }
  }
}

TEST(CoflowEngine, NoPortIsOverbookedAndNothingIsLost) {
  for (const CoflowPolicy& policy : coflow_policies()) {
    for (std::uint64_t seed = 1; seed <= kEngineSeeds; ++seed) {
      SCOPED_TRACE(policy.name + " seed " + std::to_string(seed));
      const CoflowTrace trace = random_coflows(seed);
      CoflowOptions options;
      options.watch = [&](Seconds, const std::vector<Bundle*>& bundles) {
        std::vector<double> load(2 * std::size_t{trace.ports});
        for (const Bundle* b : bundles) {
          for (std::uint32_t i = 0; i < b->rows; ++i) {
            for (std::uint32_t j = 0; j < b->columns; ++j) {
              load[b->links[i]] += b->rate(i, j);
              load[b->links[b->rows + j]] += b->rate(i, j);
            }
          }
        }
        for (double bytes : load) ASSERT_LE(bytes, options.bytes_per_s * (1 + 1e-9));
      };
      const CoflowRun run = run_policy(trace, policy.name, options);
      std::uint64_t flows = 0;
      for (const Coflow& coflow : trace.coflows) flows += coflow.bytes.size();
      EXPECT_EQ(run.flows, flows);
      for (const CoflowRecord& coflow : run.coflows) {
        EXPECT_GE(coflow.time(), coflow.isolated * (1 - 1e-9));
      }
      EXPECT_GE(mean_time(run), mean_time_bound(trace, options.bytes_per_s, 30) * (1 - 1e-9));
    }
  }
}

TEST(CoflowEngine, FairIsWhatFlowsSharingForThemselvesGive) {
  for (std::uint64_t seed = 1; seed <= kEngineSeeds; ++seed) {
    const CoflowTrace trace = random_coflows(seed);
    const CoflowRun table = run_policy(trace, "fair");
    CoflowRun flows;
    flows.coflows.resize(trace.coflows.size());
    run_fair_in_flow_sim(trace, {}, flows);
    EXPECT_EQ(table.flows, flows.flows);
    EXPECT_NEAR(table.bytes, flows.bytes, 1e-6 * flows.bytes);
    for (std::size_t k = 0; k < trace.coflows.size(); ++k) {
      EXPECT_NEAR(table.coflows[k].end, flows.coflows[k].end, 1e-9 * flows.coflows[k].end)
          << "seed " << seed << " coflow " << k;
    }
  }
}

TEST(CoflowEngine, FairOnASwitchTooLargeForATable) {
  const CoflowRun run =
      run_policy(parsed("3000 2\na 0 1 2998 1 2999:128\nb 0 1 7 1 2999:256\n"), "fair");
  EXPECT_NEAR(run.coflows[0].time(), 2, 1e-8);
  EXPECT_NEAR(run.coflows[1].time(), 3, 1e-8);
}

TEST(CoflowEngine, OurOwnIsNotWorseThanSebfOverManyTraces) {
  double ours = 0, sebf = 0;
  for (std::uint64_t seed = 1; seed <= kEngineSeeds; ++seed) {
    const CoflowTrace trace = random_coflows(seed);
    ours += std::log(mean_time(run_policy(trace, "weft")));
    sebf += std::log(mean_time(run_policy(trace, "sebf-remaining")));
  }
  EXPECT_LT(ours, sebf);
}

TEST(CoflowEngine, NobodySeesTheFuture) {
  for (const CoflowPolicy& policy : coflow_policies()) {
    SCOPED_TRACE(policy.name);
    CoflowTrace trace = random_coflows(5);
    const CoflowRun whole = run_policy(trace, policy.name);
    const std::size_t half = trace.coflows.size() / 2;
    const Seconds cut = trace.coflows[half].arrival;
    trace.coflows.resize(half);
    const CoflowRun part = run_policy(trace, policy.name);
    for (std::size_t k = 0; k < half; ++k) {
      if (whole.coflows[k].end >= cut) continue;
      EXPECT_DOUBLE_EQ(whole.coflows[k].end, part.coflows[k].end);
    }
  }
}

TEST(CoflowEngine, CoflowsLetInMeetTheirDeadlines) {
  std::size_t refused = 0;
  for (std::uint64_t seed = 1; seed <= kEngineSeeds; ++seed) {
    CoflowTrace trace = random_coflows(seed);
    assign_deadlines(trace, CoflowOptions{}.bytes_per_s, 1, seed);
    const CoflowRun run = run_policy(trace, "edf");
    for (std::size_t k = 0; k < run.coflows.size(); ++k) {
      refused += run.coflows[k].refused;
      if (run.coflows[k].refused) continue;
      EXPECT_LE(run.coflows[k].time(), trace.coflows[k].deadline * (1 + 1e-6)) << seed;
    }
  }
  EXPECT_GT(refused, 0u);
}

}  // namespace
}  // namespace weft
