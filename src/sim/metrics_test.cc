#include "sim/metrics.h"

#include <gtest/gtest.h>

#include "model/power.h"
#include "sim/sim_testing.h"

namespace weft {
namespace {

TEST(Metrics, AddsUpStatesOverTime) {
  const Cluster cluster = testing_cluster("1x4");
  Metrics metrics(cluster, true);
  metrics.now(0, 2, 1, 3, 1);
  metrics.now(10, 1, 0, 2, 0);
  metrics.now(30, 0, 0, 0, 0);
  EXPECT_EQ(metrics.contention(5), 40) << "all of the past, and nobody is active now";
  RunResult result;
  metrics.finish(30, result);
  EXPECT_DOUBLE_EQ(result.utilization, (3 * 10 + 2 * 20) / (4 * 30.0));
  EXPECT_DOUBLE_EQ(result.fragmentation, 10 / (4 * 30.0));
  EXPECT_DOUBLE_EQ(result.gpu_hours, 70 / 3600.0);
  ASSERT_EQ(result.samples.size(), 3u);
  EXPECT_EQ(result.samples[1].busy_devices, 2);
}

TEST(Metrics, CostFollowsThePriceSeries) {
  Cluster cluster = testing_cluster("1x4");
  cluster.prices[cluster.nodes[0].price] = {{0, 1.0}, {3600, 4.0}};
  Metrics metrics(cluster, false);
  metrics.used(0, 2, 1800, 5400, 0);  // half an hour at 1, half an hour at 4, two devices
  RunResult result;
  metrics.finish(5400, result);
  EXPECT_DOUBLE_EQ(result.cost, 2 * (0.5 * 1 + 0.5 * 4));
}

TEST(Metrics, EnergyIsBusyDrawPlusIdleDraw) {
  Cluster cluster = testing_cluster("1x2");
  cluster.types[0].idle_watts = 50;
  cluster.types[0].power = {{100, 0.5}, {300, 1}};
  Metrics metrics(cluster, false);
  metrics.used(0, 1, 0, 3600, busy_watts(cluster.types[0], 0));
  RunResult result;
  metrics.finish(7200, result);
  // One device busy for an hour at 300 W; idle: that one for an hour, the other for two.
  EXPECT_DOUBLE_EQ(result.energy_kwh, 0.3 + 3 * 0.05);
}

TEST(Metrics, ThePeakIsTheLargestDrawThatLasted) {
  Cluster cluster = testing_cluster("1x2");
  cluster.types[0].idle_watts = 50;
  Metrics metrics(cluster, false);
  metrics.draw(250);
  metrics.draw(250);  // one job hands over to the next
  metrics.draw(-250);
  metrics.now(0, 1, 0, 1, 0);
  metrics.draw(-250);
  metrics.now(10, 0, 0, 0, 0);
  RunResult result;
  metrics.finish(10, result);
  EXPECT_DOUBLE_EQ(result.peak_kw, 0.35);
}

}  // namespace
}  // namespace weft
