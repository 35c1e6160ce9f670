// A service beside training jobs under one policy: replicas follow the load, training has the rest.
#include <gtest/gtest.h>

#include "sim/sim_testing.h"
#include "tests/cross_testing.h"

namespace weft {
namespace {

// Replicas of job 0 as they are asked for, with the time.
class ReplicaRecorder : public Journal {
 public:
  void command(Seconds at, const Command& c) override {
    if (c.job == 0 && c.allocation != nullptr) steps.emplace_back(at, c.allocation->replicas);
  }
  std::vector<std::pair<Seconds, std::uint32_t>> steps;
};

using Steps = std::vector<std::pair<Seconds, std::uint32_t>>;

class Service : public testing::Test {
 protected:
  // A service of one to three replicas, each good for 10 requests/s, that is taken down at 400 s;
  // the load goes 10, 30, 10, 50. Two training jobs beside it.
  Service() {
    scratch_.write("load.csv", "at_s,requests_per_s\n0,10\n100,30\n200,10\n300,50\n");
    path_ = scratch_.write(
        "jobs.csv",
        "name,submit_s,devices,duration_s,kind,priority,min_replicas,max_replicas,replica_rate,"
        "load_file\n"
        "front,0,1,400,service,5,1,3,10,load.csv\n"
        "train,0,3,1000,training,0,,,,\n"
        "small,5,1,150,training,0,,,,\n");
  }

  RunResult run(const std::string& shape, const std::string& policy_name) {
    const Cluster cluster = testing_cluster(shape);
    Result<Trace> trace = read_trace(path_, cluster, {});
    CHECK(trace.ok());
    const std::unique_ptr<Policy> policy = testing_policy(policy_name);
    Result<RunResult> result = run_trace(cluster, *trace, *policy, SimOptions{}, &replicas_);
    CHECK(result.ok());
    return std::move(result).value();
  }

  Scratch scratch_;
  std::string path_;
  ReplicaRecorder replicas_;
};

TEST_F(Service, TakesDevicesFromLessUrgentTrainingAndGivesThemBack) {
  const RunResult result = run("1x4", "priority");
  EXPECT_EQ(replicas_.steps, (Steps{{0, 1}, {100, 3}, {200, 1}, {300, 3}}));
  // train runs 0-100, 200-300 and from 400 on; small is behind it in the queue until 400.
  EXPECT_EQ(result.records[1].end, 1200);
  EXPECT_EQ(result.records[1].restarts, 2);
  EXPECT_EQ(result.records[2].first_start, 400);
  EXPECT_EQ(result.records[2].end, 550);
  EXPECT_EQ(result.records[0].end, 400);
  // 100 s each of 10, 30, 10 and, three replicas being the most, 30 of 50.
  EXPECT_DOUBLE_EQ(result.served, 8000.0 / 10000.0);
}

TEST_F(Service, GrowsOnlyIntoFreeDevicesWherePolicyDoesNotPreempt) {
  const RunResult result = run("1x5", "fifo");
  // small leaves at 155, which makes room for a second replica until the load falls at 200.
  EXPECT_EQ(replicas_.steps, (Steps{{0, 1}, {155, 2}, {200, 1}, {300, 2}}));
  EXPECT_EQ(result.records[1].first_start, 0);
  EXPECT_EQ(result.records[1].end, 1000);
  EXPECT_EQ(result.records[2].first_start, 5);
  EXPECT_EQ(result.records[2].end, 155);
  // 10*100 + (10*55 + 20*45) + 10*100 + 20*100.
  EXPECT_DOUBLE_EQ(result.served, 5450.0 / 10000.0);
}

TEST_F(Service, WithoutNeighboursServesAllThatItsReplicasCan) {
  const RunResult result = run("4x4", "fifo");
  EXPECT_DOUBLE_EQ(result.served, 8000.0 / 10000.0);
  EXPECT_EQ(replicas_.steps.back().second, 3u);
}

}  // namespace
}  // namespace weft
