#include "timing/choose_collective.h"

#include <gtest/gtest.h>

#include "timing/timing_testing.h"

namespace weft {
namespace {

CollectiveAnswer best_on(const Topology& topology, int ranks, double bytes,
                         const std::string& algorithm = "auto") {
  CollectiveQuestion question{&topology, {.ranks = ranks, .chunks = 0}, bytes, {}, false};
  auto answer = choose_collective(question, algorithm);
  EXPECT_TRUE(answer.ok()) << (answer.ok() ? "" : answer.error().text());
  return std::move(answer).value();
}

TEST(ChooseCollective, PicksByWhatIsFastest) {
  struct Row {
    const char* sentence;
    const char* topology;
    int ranks;
    double bytes;
    const char* want;
  };
  const Row rows[] = {
      {"neighbours talk where crossing the spine is dear",
       "clos:hosts=32,radix=16,oversubscription=8,bandwidth=100Gb/s,latency=1us", 32, 1e9, "ring"},
      {"many bytes among many ranks: as few rounds with as few bytes",
       "switch:latency=5us,bandwidth=12.5GB/s", 64, 100e6, "halving-doubling"},
      {"a torus has more links than a ring uses", "torus:4x4,bandwidth=50GB/s,latency=1us", 16, 1e9,
       "torus"},
  };
  for (const Row& row : rows) {
    const CollectiveAnswer answer =
        best_on(topology_of(row.topology, row.ranks), row.ranks, row.bytes);
    EXPECT_EQ(answer.best.algorithm, row.want) << row.sentence;
    for (const Considered& c : answer.considered) EXPECT_GE(c.time_s, answer.best.time_s);
    EXPECT_GT(answer.considered.size(), 5u);
  }
}

TEST(ChooseCollective, FindsTheNumberOfChunksOfAPipeline) {
  const Topology topology = topology_of("switch:latency=5us,bandwidth=12.5GB/s", 16);
  const CollectiveAnswer answer = best_on(topology, 16, 100e6, "double-binary-tree");
  EXPECT_GT(answer.best.chunks, 1);
  EXPECT_LT(answer.best.chunks, 256);
}

TEST(ChooseCollective, PlacesSwitchesAndServers) {
  const Topology clos = topology_of("clos:hosts=16,radix=8,bandwidth=12.5GB/s,latency=5us");
  CollectiveQuestion question{&clos, {.ranks = 12, .chunks = 0, .per_node = 4}, 100e6, {}, false};
  auto sums = choose_collective(question, "in-network");
  ASSERT_TRUE(sums.ok()) << sums.error().text();
  EXPECT_NEAR(sums->best.time_s, 4 * 5e-6 + 100e6 / 12.5e9, 1e-12);
  question.request.servers = 4;
  EXPECT_TRUE(choose_collective(question, "parameter-server").ok());
  question.request.servers = 5;
  EXPECT_FALSE(choose_collective(question, "parameter-server").ok());
}

// Hosts of one leaf add up there, whatever their number, without being told.
TEST(ChooseCollective, FindsTheLeavesOfATopology) {
  const Topology clos = topology_of("clos:hosts=10,radix=8,bandwidth=12.5GB/s,latency=5us");
  CollectiveQuestion question{&clos, {.ranks = 10, .chunks = 0}, 100e6, {}, false};
  auto sums = choose_collective(question, "in-network");
  ASSERT_TRUE(sums.ok()) << sums.error().text();
  EXPECT_EQ(sums->schedule.helpers.size(), 4u);  // leaves of 4, 4 and 2 hosts, and one above them
  EXPECT_NEAR(sums->best.time_s, 4 * 5e-6 + 100e6 / 12.5e9, 1e-12);
}

TEST(ChooseCollective, TimesAScheduleOfAnyOrigin) {
  const Topology clos = topology_of("clos:hosts=12,radix=8,bandwidth=12.5GB/s,latency=5us");
  CollectiveQuestion question{&clos, {.ranks = 12, .chunks = 0}, 100e6, {}, false};
  for (const char* name : {"ring", "in-network", "synthesised"}) {
    auto chosen = choose_collective(question, name);
    ASSERT_TRUE(chosen.ok()) << chosen.error().text();
    auto again = time_collective(question, chosen->schedule);
    ASSERT_TRUE(again.ok()) << again.error().text();
    EXPECT_EQ(again->best.time_s, chosen->best.time_s) << name;
  }
}

TEST(ChooseCollective, SaysWhatIsWrong) {
  const Topology topology = topology_of("torus:4x4,bandwidth=50GB/s");
  struct Row {
    const char* algorithm;
    int ranks;
    const char* want;
  };
  const Row rows[] = {{"rign", 4, "ring"},
                      {"ring", 17, "17 ranks are asked for"},
                      {"in-network", 4, "no switch above"}};
  for (const Row& row : rows) {
    CollectiveQuestion question{&topology, {.ranks = row.ranks, .chunks = 0}, 1e6, {}, false};
    auto answer = choose_collective(question, row.algorithm);
    ASSERT_FALSE(answer.ok()) << row.algorithm;
    EXPECT_NE(answer.error().text().find(row.want), std::string::npos) << answer.error().text();
  }
}

}  // namespace
}  // namespace weft
