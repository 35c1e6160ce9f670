#include "sim/engine.h"

#include <gtest/gtest.h>

#include "sim/sim_testing.h"

namespace weft {
namespace {

// A service of one device whose replicas carry 10 requests/s each.
JobRow service(Seconds submit, std::vector<LoadStep> load, Seconds end, std::uint32_t least = 1,
               std::uint32_t most = 1, std::int32_t priority = 0) {
  JobRow row{submit, 1, 0, priority};
  row.edit = [=](Submission& job, Menu& menu, Truth& truth) {
    job.kind = WorkloadKind::kService;
    job.min_replicas = least;
    job.max_replicas = most;
    menu.configurations.front().rate = 10;
    truth.load = load;
    truth.service_end = end;
  };
  return row;
}

TEST(Engine, FiguresOfATwoJobRun) {
  const RunResult result = testing_run("1x4", "fifo", {{10, 2, 100}, {20, 4, 50}});
  EXPECT_EQ(result.jobs, 2);
  EXPECT_EQ(result.makespan_s, 150);  // from the first submission at 10 to 160
  EXPECT_EQ(result.jct_s.mean, (100 + 140) / 2.0);
  EXPECT_EQ(result.queue_s.mean, 90 / 2.0);
  EXPECT_DOUBLE_EQ(result.gpu_hours, (200 + 200) / 3600.0);
  EXPECT_DOUBLE_EQ(result.utilization, 400.0 / (4 * 150));
  EXPECT_DOUBLE_EQ(result.fragmentation, 2.0 * 90 / (4 * 150)) << "2 idle while b waited 90 s";
  EXPECT_EQ(result.restarts, 0);
}

TEST(Engine, AJobThatCanNeverRunIsNamedBeforeAnythingRuns) {
  const Cluster cluster = testing_cluster("1x4");
  const Trace trace = testing_trace({{0, 1, 10}, {1, 5, 10}});
  Result<RunResult> result = run_trace(cluster, trace, *testing_policy("fifo"), testing_options());
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.error().what.find("job b asks for 5 devices; the cluster 1x4 has 4"),
            std::string::npos)
      << result.error().what;
}

TEST(Engine, ACrashLosesTheWorkSinceTheLastCheckpoint) {
  SimOptions options = testing_options();
  options.checkpoint_interval = 30;
  options.faults.recorded = {{/*at=*/100, /*node=*/0, /*duration=*/50, /*notice=*/0}};
  const RunResult result = testing_run("1x1", "fifo", {{0, 1, 200}}, options);
  // 100 s done, 90 kept, the node is back at 150: 110 s to go.
  EXPECT_EQ(result.records[0].end, 260);
  EXPECT_EQ(result.records[0].lost_work_s, 10);
  EXPECT_EQ(result.records[0].restarts, 1);
}

TEST(Engine, AFailedNodeIsAvoidedAndANoticeKeepsNewWorkAway) {
  SimOptions options = testing_options();
  options.faults.recorded = {{/*at=*/100, /*node=*/0, /*duration=*/1000, /*notice=*/60}};
  // a runs on node 0 and moves to node 1 when it dies; b comes after the notice.
  const RunResult result = testing_run("2x1", "fifo", {{0, 1, 150}, {50, 1, 20}}, options);
  EXPECT_EQ(result.records[1].first_start, 50);
  EXPECT_EQ(result.records[1].end, 70);
  EXPECT_EQ(result.records[0].end, 150)
      << "without a checkpoint interval nothing is lost, and the first crash holds nobody back";
  EXPECT_EQ(result.records[0].restarts, 1);
}

TEST(Engine, MoreStartsOfOneInstantThanDevicesWaitInOrder) {
  const RunResult result =
      testing_run("1x2", "fifo", {{0, 1, 10}, {0, 1, 20}, {0, 1, 5}, {0, 1, 5}});
  EXPECT_EQ(result.records[2].first_start, 10);
  EXPECT_EQ(result.records[3].first_start, 15);
}

TEST(Engine, AServiceWithoutAnEndIsTakenDownAfterTheLastJob) {
  const RunResult result =
      testing_run("1x2", "fifo", {service(0, {{0, 10}, {50, 5}}, kNever), {5, 1, 100}});
  EXPECT_EQ(result.records[0].end, 105);
  EXPECT_EQ(result.records[1].end, 105);
  EXPECT_DOUBLE_EQ(result.served, 1);
  const RunResult alone =
      testing_run("1x2", "fifo", {service(0, {{0, 10}, {50, 20}, {80, 5}}, kNever)});
  EXPECT_EQ(alone.records[0].end, 80) << "not before its last change of load";
  EXPECT_DOUBLE_EQ(alone.served, (500 + 300) / (500 + 600.0));
}

TEST(Engine, RequestsBeforeAServiceComesAndAfterItGoesDoNotCount) {
  // Load 10 from 0, 30 from 200; the service lives from 100 to 150, and 500 requests are asked.
  const RunResult result = testing_run("1x1", "fifo", {service(100, {{0, 10}, {200, 30}}, 150)});
  EXPECT_DOUBLE_EQ(result.served, 1);
}

TEST(Engine, NobodyKnowsALoadBeforeItComes) {
  // The service starts with nothing to do; the load of 30 comes at 100 and then needs 3 replicas.
  const RunResult result =
      testing_run("1x3", "fifo", {service(0, {{100, 30}}, 200, 1, 3), {1, 2, 50}});
  EXPECT_EQ(result.records[1].first_start, 1);
  EXPECT_DOUBLE_EQ(result.served, 1);
}

TEST(Engine, AServiceMayHaveNoReplicaAtLeast) {
  const RunResult result = testing_run("1x2", "fifo", {service(0, {{0, 0}, {50, 20}}, 100, 0, 2)});
  EXPECT_DOUBLE_EQ(result.served, 1);
}

TEST(Engine, AServiceThatGrowsMayPushAnotherOut) {
  // Both want all three devices at 50; the urgent one gets them.
  const RunResult result =
      testing_run("1x3", "priority",
                  {service(0, {{0, 10}, {50, 10}}, 100, 1, 3, /*priority=*/0),
                   service(0, {{0, 10}, {50, 30}}, 100, 1, 3, /*priority=*/9)});
  EXPECT_DOUBLE_EQ(result.served, (500 + 500 + 1500) / (1000 + 500 + 1500.0));
}

TEST(Engine, LeastAttainedServiceStepsEvenWhenTimeIsCoarse) {
  // Far from zero a double cannot hold the exact moment at which a queue is left.
  const Seconds late = 1.5e9;
  const RunResult result =
      testing_run("1x3", "2d-las", {{late, 3, 5000.1}, {late + 0.3, 3, 100.7}});
  EXPECT_NEAR(result.records[1].first_start, late + 3250.0 / 3, 1e-3);
}

}  // namespace
}  // namespace weft
