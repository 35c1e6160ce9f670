// The public Facebook trace, against known results; skipped where the data is not at hand.
#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "base/files.h"
#include "fabric/coflow/coflow_testing.h"
#include "fabric/coflow/coflowsim.h"
#include "fabric/coflow/lower_bound.h"

namespace weft {
namespace {

const std::string kFolder = std::string(WEFT_SHARED_DATA) + "/network/";
const std::string kTrace = kFolder + "FB2010-1Hr-150-0.txt";

// The mean each policy must give or stay below, in seconds.
struct Known {
  const char* policy;
  double least, most;
};

TEST(FacebookTrace, MeansAreAsKnownAndAboveTheBound) {
  if (!is_file(kTrace)) GTEST_SKIP() << kTrace << " is not here; see docs/data.md";
  const auto trace = read_coflow_trace(kTrace);
  ASSERT_TRUE(trace.ok());
  const Seconds bound = mean_time_bound(*trace, CoflowOptions{}.bytes_per_s);
  EXPECT_GT(bound, 18.4);
  std::vector<Known> table = {{"weft", 0, 21.3}};
  if (std::getenv("WEFT_SOAK") != nullptr) {  // a minute in a debug build
    // Aalo gives 35.80: which of two giants sinks first decides between that and 35.4, which is
    // what rules that look at queues every 0.1 s or 1 s give (docs/coflows.md).
    table.insert(table.end(), {{"fair", 56.1, 56.2},
                               {"sebf", 22.3, 22.4},
                               {"sebf-remaining", 0, 21.7},
                               {"sincronia", 0, 21.9},
                               {"aalo", 35.3, 35.9}});
  }
  for (const Known& row : table) {
    const double mean = mean_time(run_policy(*trace, row.policy));
    EXPECT_GE(mean, std::max(row.least, bound)) << row.policy;
    EXPECT_LE(mean, row.most) << row.policy;
  }
}

// How many of coflowsim's lines come out as they are.
struct Lines {
  const char *policy, *file;
  std::size_t least;
};

TEST(FacebookTrace, CoflowsimsLinesComeOutUnderItsRules) {
  // All where no running difference decides what counts as full (docs/coflows.md).
  const Lines table[] = {{"aalo", "DARK", 526}, {"sebf", "SEBF", 500}};
  for (const Lines& row : table) {
    const std::string lines = kFolder + "coflowsim-" + row.file + "-percoflow.txt";
    if (!is_file(kTrace) || !is_file(lines))
      GTEST_SKIP() << lines << " is not here; see docs/data.md";
    const auto trace = read_coflow_trace(kTrace);
    ASSERT_TRUE(trace.ok());
    const CoflowRun run = run_like_coflowsim(*trace, row.policy);
    std::ifstream file(lines);
    std::size_t equal = 0;
    for (std::size_t k = 0; k < trace->coflows.size(); ++k) {
      std::string name, rest;
      double start_ms = 0, end_ms = 0;
      file >> name >> start_ms >> end_ms;
      std::getline(file, rest);
      ASSERT_EQ(name, "JOB-" + trace->coflows[k].name);
      EXPECT_NEAR(run.coflows[k].arrival, start_ms / 1e3, 1e-6);
      equal += std::abs(run.coflows[k].end - end_ms / 1e3) < 1e-6;
    }
    EXPECT_GE(equal, row.least) << row.policy;
  }
}

}  // namespace
}  // namespace weft
