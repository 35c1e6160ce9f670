#include "sim/elastic_agent.h"

#include <gtest/gtest.h>

#include "model/sia_profile.h"
#include "sim/sim_testing.h"

namespace weft {
namespace {

// The tiny profile: types fast and slow, batches 16 to 64, three epochs of 100 useful steps.
class Elastic : public testing::Test {
 protected:
  Elastic() : cluster_(testing_cluster("fast:2x4,slow:1x2")) {
    Result<Goodput> read = read_sia_profile(std::string(WEFT_FIXTURES) + "/sia/tiny");
    CHECK(read.ok());
    goodput_ = std::make_shared<const Goodput>(std::move(read).value());
  }
  static Allocation devices(std::initializer_list<DeviceId> ids) {
    Allocation allocation;
    for (DeviceId id : ids) allocation.devices.push_back({id});
    return allocation;
  }

  Cluster cluster_;
  std::shared_ptr<const Goodput> goodput_;
};

TEST_F(Elastic, TheFirstBatchIsTheInitialOne) {
  ElasticAgent agent(*goodput_, cluster_);
  agent.begin(devices({0}), Configuration{}, 0);
  EXPECT_NEAR(agent.rate(), 1 / 0.18, 1e-9);
  EXPECT_EQ(agent.epoch_end(), 100);
  EXPECT_FALSE(agent.report()->noise.has_value()) << "nothing was measured";
}

TEST_F(Elastic, AMeasurementMakesAModelOfTheTypeAndOfThePool) {
  ElasticAgent agent(*goodput_, cluster_);
  agent.begin(devices({0, 1}), Configuration{}, 0);
  agent.measure();
  const auto report = agent.report();
  ASSERT_TRUE(report->on_types[0].model && report->pooled && report->noise);
  EXPECT_FALSE(report->on_types[1].model.has_value());
  EXPECT_EQ(report->on_types[0].most_replicas, 2);
  // Two replicas share 16 samples: 0.10 s to compute and 0.12 s for the step.
  const StepTime time = predict(*report->on_types[0].model, {1, 2}, 8);
  EXPECT_NEAR(time.compute_s, 0.10, 0.005);
  EXPECT_NEAR(time.step_s, 0.12, 0.006);
  EXPECT_GT(agent.report()->serial, report->serial);
}

TEST_F(Elastic, TuningNeverChoosesABatchBelowTheInitialOne) {
  ElasticAgent agent(*goodput_, cluster_);
  agent.begin(devices({0, 1, 2, 3}), Configuration{}, 0);
  const double before = agent.rate();
  bool again = agent.measure();
  for (int i = 0; i < 10 && again; ++i) again = agent.measure();
  EXPECT_FALSE(again) << "it comes to rest";
  EXPECT_GE(agent.rate(), before * 0.99) << "and is no slower for it";
}

// 32 samples on two replicas: 0.20 s a step. Noise between the runs of 16 and 64 samples: 10/3 and
// 14/3, so a step of twice the initial batch is worth 8 / (14/6 + 10/3) useful ones.
TEST_F(Elastic, AFixedBatchStaysFixed) {
  ElasticAgent agent(*goodput_, cluster_);
  Configuration fixed;
  fixed.batch = 32;
  agent.begin(devices({0, 1}), fixed, 0);
  EXPECT_NEAR(agent.rate(), 8 / (14.0 / 6 + 10.0 / 3) / 0.20, 1e-9);
  EXPECT_FALSE(agent.measure());
  EXPECT_NEAR(agent.rate(), 8 / (14.0 / 6 + 10.0 / 3) / 0.20, 1e-9);
}

TEST_F(Elastic, AResumedJobIsInTheEpochItsProgressSays) {
  ElasticAgent agent(*goodput_, cluster_);
  agent.begin(devices({8}), Configuration{}, 150);
  EXPECT_EQ(agent.epoch_end(), 200);
  EXPECT_NEAR(agent.rate(), 1 / 0.45, 1e-9) << "device 8 is slow";
  EXPECT_FALSE(agent.in_last_epoch());
  agent.enter_next_epoch();
  EXPECT_TRUE(agent.in_last_epoch());
}

// 300 useful steps at 0.18 s, after 30 s of starting.
TEST_F(Elastic, AWholeRunTakesItsRestartAndItsSteps) {
  TraceOptions options;
  options.profiles = std::string(WEFT_FIXTURES) + "/sia";
  Result<Trace> trace = read_trace(options.profiles + "/workload-tiny.csv", cluster_, options);
  ASSERT_TRUE(trace.ok()) << trace.error().text();
  trace->jobs.resize(1);
  const auto fifo = testing_policy("fifo");
  Result<RunResult> result = run_trace(cluster_, *trace, *fifo, SimOptions{});
  ASSERT_TRUE(result.ok());
  EXPECT_NEAR(result->records[0].end, 30 + 300 * 0.18, 1e-6);
}

}  // namespace
}  // namespace weft
