#include "report_stays.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft {
namespace {

using testing::ElementsAre;
using testing::Le;

Cluster even_cluster(int nodes, int devices) {
  Cluster cluster;
  cluster.types.push_back({});
  cluster.nodes.resize(static_cast<size_t>(nodes));
  for (Node& node : cluster.nodes) node.devices = static_cast<std::uint16_t>(devices);
  cluster.finish();
  return cluster;
}

TEST(ReportStays, JoinsWhatLiesSideBySideOrGoesOnInPlace) {
  const struct {
    const char* why;
    std::vector<Span> spans;
    size_t want;
  } kCases[] = {
      {"one gang on two nodes", {{1, 0, 4, kWhole, 0, 9}, {1, 4, 4, kWhole, 0, 9}}, 1},
      {"a stay closed and opened again", {{1, 0, 4, kWhole, 0, 9}, {1, 0, 4, kWhole, 9, 12}}, 1},
      {"both, in any order",
       {{1, 4, 4, kWhole, 9, 12},
        {1, 0, 4, kWhole, 0, 9},
        {1, 0, 4, kWhole, 9, 12},
        {1, 4, 4, kWhole, 0, 9}},
       1},
      {"a pause", {{1, 0, 4, kWhole, 0, 9}, {1, 0, 4, kWhole, 10, 12}}, 2},
      {"a resize", {{1, 0, 4, kWhole, 0, 9}, {1, 0, 2, kWhole, 9, 12}}, 2},
      {"another job", {{1, 0, 4, kWhole, 0, 9}, {2, 4, 4, kWhole, 0, 9}}, 2},
      {"a gap between devices", {{1, 0, 4, kWhole, 0, 9}, {1, 5, 4, kWhole, 0, 9}}, 2},
      {"shares lie in rows of their own", {{1, 0, 1, 500, 0, 9}, {1, 1, 1, 500, 0, 9}}, 2},
      {"no time at all", {{1, 0, 1, kWhole, 5, 5}}, 0},
  };
  for (const auto& [why, spans, want] : kCases) {
    double before = 0, after = 0;
    for (const Span& s : spans) before += (s.to - s.from) * s.devices * s.milli;
    const std::vector<Stay> stays = joined(spans);
    for (const Stay& stay : stays) after += stay.device_s() * kWhole;
    EXPECT_EQ(stays.size(), want) << why;
    EXPECT_DOUBLE_EQ(before, after) << why;
  }
}

TEST(ReportStays, TakesWholeJobsTheSmallestFirst) {
  std::vector<Stay> stays = {{0, 0, 1, kWhole, 0, 1},   {0, 0, 1, kWhole, 2, 3},
                             {1, 1, 1, kWhole, 0, 100}, {2, 2, 8, kWhole, 0, 50},
                             {2, 2, 8, kWhole, 60, 90}, {3, 3, 1, kWhole, 0, 10}};
  const std::vector<Stay> small = take_small(stays, 4);
  std::vector<JobId> drawn, taken;
  for (const Stay& stay : stays) drawn.push_back(stay.job);
  for (const Stay& stay : small) taken.push_back(stay.job);
  EXPECT_THAT(drawn, ElementsAre(1, 2, 2, 3));
  EXPECT_THAT(taken, ElementsAre(0, 0));
}

TEST(ReportStays, AJobOfMoreStaysThanFitLeavesRoomForOthers) {
  std::vector<Stay> stays;
  for (int i = 0; i < 10; ++i) stays.push_back({0, 0, 8, kWhole, i * 10.0, i * 10.0 + 9});
  stays.push_back({1, 8, 1, kWhole, 0, 1});
  EXPECT_EQ(take_small(stays, 5).size(), 10u);
  EXPECT_EQ(stays.size(), 1u);
}

TEST(ReportStays, CellsSayWhatSmallJobsUsedOfTheRest) {
  const Cluster cluster = even_cluster(3, 2);
  Grid grid = grid_for(cluster, 0, 40, 1500);
  EXPECT_EQ(grid.rows, 3u);
  EXPECT_EQ(grid.group, 2u);
  grid.bins = 4;
  grid.bin_s = 10;
  const std::vector<Stay> drawn = {{0, 0, 1, kWhole, 0, 40}};
  const std::vector<Stay> small = {{1, 1, 1, kWhole, 0, 10},  // all that is left of its cell
                                   {2, 2, 2, kWhole, 5, 10},  // half of node 1
                                   {3, 4, 1, 500, 20, 40}};   // a quarter of node 2, twice
  const std::string letters = occupancy(grid, drawn, small);
  EXPECT_EQ(letters, "_AAAgAAAAAQQ");
}

TEST(ReportStays, AGridNeverHasMoreCellsThanAllowed) {
  const struct {
    int nodes, devices;
    size_t cells;
  } kCases[] = {{1, 1, 1'000'000},    {16, 8, 1'000'000}, {1000, 8, 1'000'000},
                {12'800, 8, 500'000}, {5000, 7, 10'000},  {3, 2, 1}};
  for (const auto& [nodes, devices, cells] : kCases) {
    const Cluster cluster = even_cluster(nodes, devices);
    const Grid grid = grid_for(cluster, 0, 1e6, cells);
    EXPECT_THAT(grid.rows * grid.bins, Le(cells)) << nodes << "x" << devices;
    EXPECT_GE(grid.rows * grid.group, cluster.device_count()) << nodes << "x" << devices;
    EXPECT_EQ(grid.group == 1 || grid.group % static_cast<size_t>(devices) == 0, true)
        << nodes << "x" << devices;
  }
}

TEST(Absences, AreCutToThePageAndTheLargestAreKept) {
  const Cluster cluster = *parse_cluster_shorthand("2x4");
  const std::vector<Gap> gaps = {{1, kNoDevice, 5, 20},  // a node
                                 {0, 2, 30, 200},        // a device, until after the end
                                 {0, 3, 1, 9},           // over before the page begins
                                 {0, 1, 40, 41}};
  const auto all = absences(cluster, gaps, 10, 100, 10);
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].device, 4u);
  EXPECT_EQ(all[0].devices, 4u);
  EXPECT_EQ(all[0].from, 10);
  EXPECT_EQ(all[0].to, 20);
  EXPECT_EQ(all[1].device, 2u);
  EXPECT_EQ(all[1].devices, 1u);
  EXPECT_EQ(all[1].to, 100);
  const auto largest = absences(cluster, gaps, 10, 100, 2);
  ASSERT_EQ(largest.size(), 2u);
  EXPECT_EQ(largest[1].device, 2u) << "the second on device 1 is the one left out";
}

}  // namespace
}  // namespace weft
