// The public Facebook trace, against known results; skipped where the data is not at hand.
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
  if (!is_file(kTrace)) GTEST_SKIP() << kTrace << " is not at hand";
  const auto trace = read_coflow_trace(kTrace);
  ASSERT_TRUE(trace.ok());
  const Seconds bound = mean_time_bound(*trace, CoflowOptions{}.bytes_per_s);
  EXPECT_GT(bound, 18.4);
  std::vector<Known> table = {{"weft", 0, 21.3}};
  if (std::getenv("WEFT_SOAK") != nullptr) {  // minutes in a debug build
    table.insert(table.end(), {{"fair", 55.6, 56.8},
                               {"sebf", 22.2, 22.6},
                               {"sebf-remaining", 0, 21.9},
                               {"sincronia", 0, 22.1},
                               {"aalo", 0, 35.8}});
  }
  for (const Known& row : table) {
    const double mean = mean_time(run_policy(*trace, row.policy));
    EXPECT_GE(mean, std::max(row.least, bound)) << row.policy;
    EXPECT_LE(mean, row.most) << row.policy;
  }
}

TEST(FacebookTrace, CoflowsimsLinesComeOutUnderItsRules) {
  const std::string lines = kFolder + "coflowsim-SEBF-percoflow.txt";
  if (!is_file(kTrace) || !is_file(lines)) GTEST_SKIP() << lines << " is not at hand";
  const auto trace = read_coflow_trace(kTrace);
  ASSERT_TRUE(trace.ok());
  const CoflowRun run = run_like_coflowsim(*trace, "sebf");
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
  EXPECT_GE(equal, 500u);  // of 526; rounding decides which flow takes a port's last room
}

}  // namespace
}  // namespace weft
