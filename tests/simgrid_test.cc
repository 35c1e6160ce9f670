// FlowSim against SimGrid's CM02 model: two programs, the same flows, every completion.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <sstream>

#include "base/child.h"
#include "fabric/flow_load.h"
#include "tests/cross_testing.h"

namespace weft {
namespace {

struct Times {
  double start_s = 0, end_s = 0;
};

#ifdef WEFT_SIMGRID
constexpr const char* kSimgrid = WEFT_SIMGRID;
#else
constexpr const char* kSimgrid = "";
#endif

std::map<std::uint64_t, Times> simgrid_times(const char* pattern, std::uint32_t hosts,
                                             std::uint32_t flows, std::uint64_t seed,
                                             std::size_t count) {
  const auto end = run_child({kSimgrid, pattern, std::to_string(hosts), std::to_string(flows),
                              std::to_string(seed), "times", std::to_string(count)},
                             /*timeout_s=*/300);
  EXPECT_TRUE(end.ok() && end->code == 0);
  std::map<std::uint64_t, Times> times;
  if (!end.ok()) return times;
  std::istringstream lines(end->out);
  std::uint64_t number = 0;
  for (Times t; lines >> number >> t.start_s >> t.end_s;) times[number] = t;
  return times;
}

std::map<std::uint64_t, double> our_ends(LoadPattern pattern, std::uint32_t hosts,
                                         std::uint32_t flows, std::uint64_t seed,
                                         std::size_t count) {
  FlowLoad load(pattern, hosts, flows, seed);
  std::map<std::uint64_t, double> ends;
  while (ends.size() < count) {
    load.advance();
    for (std::uint64_t number : load.ended()) ends[number] = load.now();
  }
  return ends;
}

// Closed loops magnify differences (see flow_load_test.cc), so these end after some 60 flows in
// each place at most.
TEST(Simgrid, EveryCompletionAgrees) {
  if (*kSimgrid == '\0') GTEST_SKIP() << "SimGrid was not found when this was built";
  struct Row {
    const char* why;
    const char* pattern;
    std::uint32_t hosts, flows;
    std::uint64_t seed;
    std::size_t count;
  };
  for (const Row& row :
       std::vector<Row>{{"few flows", "random", 16, 5, 1, 300},
                        {"many flows to few hosts", "random", 9, 60, 2, 1500},
                        {"one flow per host", "random", 64, 64, 3, 2000},
                        {"a last leaf that is not full", "random", 50, 90, 4, 1500},
                        {"four flows per host", "random", 64, 256, 5, 1200},
                        {"the largest", "random", 256, 256, 6, 1500},
                        {"ring in one leaf and a half", "ring", 3, 3, 1, 30},
                        {"ring", "ring", 64, 64, 1, 640},
                        {"ring of many leaves", "ring", 256, 256, 1, 1280}}) {
    SCOPED_TRACE(row.why);
    const auto theirs = simgrid_times(row.pattern, row.hosts, row.flows, row.seed, row.count);
    const bool ring = std::string(row.pattern) == "ring";
    const auto ours = our_ends(ring ? LoadPattern::kRing : LoadPattern::kRandom, row.hosts,
                               row.flows, row.seed, row.count);
    ASSERT_EQ(theirs.size(), row.count);
    double worst = 0;
    for (const auto& [number, times] : theirs) {
      const auto our = ours.find(number);
      ASSERT_NE(our, ours.end()) << "flow " << number;
      worst = std::max(worst, std::abs(our->second / times.end_s - 1));
    }
    EXPECT_LE(worst, 0.005);
    std::printf("%s: largest relative difference %.2g\n", row.why, worst);
  }
}

}  // namespace
}  // namespace weft
