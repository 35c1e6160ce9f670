#include "collective/algorithms.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "collective/reference_testing.h"
#include "collective/requests_testing.h"
#include "collective/verify.h"

namespace weft::collective {
namespace {

class EveryAlgorithm : public testing::TestWithParam<Algorithm> {};

std::string test_name(const testing::TestParamInfo<Algorithm>& info) {
  std::string name = fmt::format("{}_{}", name_of(info.param.operation), info.param.name);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, EveryAlgorithm,
                         testing::ValuesIn(algorithms().begin(), algorithms().end()), test_name);

TEST_P(EveryAlgorithm, IsProvedForEveryRankCountTo64) {
  int proved = 0;
  for (int ranks = 1; ranks <= 64; ++ranks) {
    for (const Request& request : requests_for(GetParam(), ranks)) {
      const Status status = verify(GetParam().make(request));
      ASSERT_TRUE(status.ok()) << describe(GetParam(), request) << ": " << status.error().text();
      ++proved;
    }
  }
  EXPECT_GE(proved, 7);  // powers of two at least
}

TEST_P(EveryAlgorithm, GivesTheRightNumbers) {
  for (const int ranks : {1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 17}) {
    for (const Request& request : requests_for(GetParam(), ranks)) {
      const Schedule schedule = GetParam().make(request);
      auto memory = make_memory(schedule);
      ASSERT_TRUE(execute(schedule, memory)) << describe(GetParam(), request);
      ASSERT_EQ(compare_outputs(schedule, memory), "") << describe(GetParam(), request);
      if (!schedule.in_place) continue;
      memory = make_memory(schedule);
      ASSERT_TRUE(execute(schedule, memory, true)) << describe(GetParam(), request);
      ASSERT_EQ(compare_outputs(schedule, memory), "") << describe(GetParam(), request);
    }
  }
}

// Verification of one large schedule takes up to half a minute, so only some sizes are tried, and
// the largest only in the long tests.
TEST_P(EveryAlgorithm, IsProvedForSomeLargeRankCounts) {
  const bool soak = std::getenv("WEFT_SOAK") != nullptr;
  constexpr std::int64_t kQuick = 4'000'000;
  constexpr std::int64_t kLong = 400'000'000;
  const std::vector<int> sizes =
      soak ? std::vector<int>{65, 100, 128, 255, 512, 1000, 1024, 2048, 3000, 4096}
           : std::vector<int>{65, 100, 128, 256, 1024};
  int proved = 0;
  std::size_t served = 0;
  for (const int ranks : sizes) {
    // Few variants: requests_for() lists the plain ones first, and last the most divided.
    const auto requests = requests_for(GetParam(), ranks);
    served += requests.size();
    for (const std::size_t k : {std::size_t{0}, requests.size() / 2, requests.size() - 1}) {
      if (requests.empty()) continue;
      const Schedule schedule = GetParam().make(requests[k]);
      if (work_of(schedule) > (soak ? kLong : kQuick)) continue;
      const Status status = verify(schedule);
      ASSERT_TRUE(status.ok()) << describe(GetParam(), requests[k]) << ": "
                               << status.error().text();
      ++proved;
    }
  }
  EXPECT_TRUE(proved >= 1 || served == 0) << "served are " << served << " requests, proved none";
}

TEST_P(EveryAlgorithm, RunsInLockstepWithoutBuffers) {
  for (const int ranks : {1, 2, 7, 16}) {
    for (const Request& request : requests_for(GetParam(), ranks)) {
      const Schedule schedule = GetParam().make(request);
      EXPECT_TRUE(schedule.lockstep);  // proved by verify()
      EXPECT_EQ(schedule.credits, 0);
      EXPECT_EQ(schedule.algorithm, GetParam().name);
      EXPECT_EQ(schedule.operation, GetParam().operation);
      EXPECT_EQ(schedule.root, request.root);
    }
  }
}

TEST(Algorithms, NamesAreUniquePerOperation) {
  std::set<std::pair<Operation, std::string_view>> names;
  std::set<Operation> operations;
  for (const Algorithm& algorithm : algorithms()) {
    EXPECT_TRUE(names.emplace(algorithm.operation, algorithm.name).second) << algorithm.name;
    operations.insert(algorithm.operation);
  }
  EXPECT_EQ(operations.size(), kOperations);
}

TEST(Algorithms, ExactAndKeyedTrackingAgreeBeyond64Ranks) {
  const Request request{.operation = Operation::kAllReduce, .ranks = 130};
  EXPECT_TRUE(verify(*generate("ring", request), {.exact = true}).ok());
  EXPECT_TRUE(verify(*generate("ring", request)).ok());
}

struct Refusal {
  const char* sentence;
  std::string name;
  Request request;
  std::string want;
};

TEST(Algorithms, RefuseWhatTheyCannotServe) {
  const std::vector<Refusal> cases = {
      {"an unknown name is corrected", "rng", {}, "did you mean 'ring'"},
      {"an unknown name lists the known ones", "zzz", {}, "known are ring, "},
      {"no ranks", "ring", {.ranks = 0}, "ranks is 0"},
      {"too many ranks", "ring", {.ranks = 1 << 20}, "ranks is 1048576"},
      {"a root that is no rank",
       "chain",
       {.operation = Operation::kBroadcast, .ranks = 4, .root = 4},
       "root is 4; it must lie in 0 .. 3"},
      {"no chunks", "double-binary-tree", {.ranks = 4, .chunks = 0}, "chunks is 0"},
      {"no rings", "multi-ring", {.ranks = 4, .rings = 0}, "rings is 0"},
      {"a half-empty node", "hierarchical", {.ranks = 6, .per_node = 4}, "nodes must be full"},
      {"a negative leaf", "in-network", {.ranks = 6, .per_node = -1}, "ranks per leaf is -1"},
      {"sides that do not multiply to the ranks",
       "torus",
       {.ranks = 6, .dims = {2, 2}},
       "dims is [2, 2]"},
      {"a side of nothing", "torus", {.ranks = 6, .dims = {0, 6}}, "dims is [0, 6]"},
      {"more than it holds", "torus", {.ranks = 6, .dims = {1 << 30, 1 << 30}}, "dims is"},
      {"not a power of two",
       "halving-doubling",
       {.operation = Operation::kReduceScatter, .ranks = 6},
       "must be a power of two"},
      {"a density of nothing", "sparse", {.ranks = 6, .density = 0}, "density is 0"},
      {"negative servers", "parameter-server", {.ranks = 6, .servers = -1}, "servers is -1"},
      {"weights of other ranks",
       "direct",
       {.operation = Operation::kAllToAll, .ranks = 2, .pair_weights = {1, 2, 3}},
       "there are 3 weights; 2 ranks have 4 pairs"},
      {"a weight beyond the limit",
       "direct",
       {.operation = Operation::kAllToAll, .ranks = 1, .pair_weights = {kMaxWeight + 1}},
       "a weight is"},
      {"everybody to everybody at once", "exchange", {.ranks = 65}, "at most 64"},
      {"more pairs than can be counted",
       "direct",
       {.operation = Operation::kAllToAll, .ranks = 40000},
       "at most 32768"},
  };
  for (const Refusal& c : cases) {
    const Result<Schedule> result = generate(c.name, c.request);
    ASSERT_FALSE(result.ok()) << c.sentence;
    EXPECT_NE(result.error().text().find(c.want), std::string::npos)
        << c.sentence << ": " << result.error().text();
  }
}

}  // namespace
}  // namespace weft::collective
