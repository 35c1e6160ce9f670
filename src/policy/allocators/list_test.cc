#include "policy/allocators/list.h"

#include <gtest/gtest.h>

#include "policy/composition.h"
#include "policy/policy_testing.h"

namespace weft {
namespace {

// A list policy in the test's hands: jobs arrive, end and come back as told.
class ListTest : public testing::Test {
 protected:
  void use(const std::string& yaml, const std::string& shape) {
    auto composition = parse_composition(yaml, "test.yaml");
    ASSERT_TRUE(composition.ok()) << composition.error().text();
    policy_ = std::move(assemble(*composition)).value();
    memory_ = policy_->new_memory();
    cluster_ = small_cluster(shape);
    state_ = std::make_unique<State>(cluster_);
    draft_ = std::make_unique<Draft>(*state_);
  }
  JobId arrive(std::uint32_t devices, std::int32_t priority = 0, bool preemptible = true) {
    Configuration c;
    c.devices = devices;
    const auto id = static_cast<JobId>(state_->jobs.size());
    JobState job = small_job(c, id);
    auto spec = std::make_shared<Submission>(*job.spec);
    spec->priority = priority;
    spec->preemptible = preemptible;
    job.spec = spec;
    job.submit = state_->now;
    state_->jobs.push_back(job);
    state_->active.push_back(id);
    ++state_->waiting;
    change_.arrived.push_back(id);
    return id;
  }
  void decide() {
    draft_->clear();
    policy_->decide(*draft_, change_, *memory_);
    change_.clear();
  }
  bool placed(JobId id) const { return state_->job(id).phase == Phase::kPlaced; }
  // What the controller does when a start is refused.
  void refuse(JobId id, Seconds until) {
    JobState& job = state_->jobs[id];
    state_->ledger.give(id, job.held);
    job.held.clear();
    job.phase = Phase::kWaiting;
    job.held_back_until = until;
    --state_->placed;
    ++state_->waiting;
    change_.returned.push_back(id);
  }

  Cluster cluster_;
  std::unique_ptr<Policy> policy_;
  std::unique_ptr<PolicyMemory> memory_;
  std::unique_ptr<State> state_;
  std::unique_ptr<Draft> draft_;
  Change change_;
};

TEST_F(ListTest, AJobHeldBackDoesNotBlockAndIsTriedWhenItsTimeComes) {
  use("base: fifo\n", "1x2");
  const JobId a = arrive(2);
  decide();
  EXPECT_TRUE(placed(a));
  state_->now = 5;
  refuse(a, 9);
  const JobId b = arrive(1);
  decide();
  EXPECT_FALSE(placed(a));
  EXPECT_TRUE(placed(b)) << "the head of the queue is away";
  EXPECT_EQ(draft_->wake(), 9);
}

TEST_F(ListTest, OnlyAsManyAreEvictedAsAreNeeded) {
  use("base: priority\n", "1x4");
  const JobId a = arrive(1), b = arrive(1), c = arrive(2);
  decide();
  state_->now = 1;
  const JobId urgent = arrive(2, 5);
  decide();
  EXPECT_TRUE(placed(urgent));
  EXPECT_TRUE(placed(a));
  EXPECT_TRUE(placed(b));
  EXPECT_FALSE(placed(c)) << "the last of the least urgent goes first, and is enough";
}

TEST_F(ListTest, NobodyIsEvictedInVain) {
  use("base: priority\n", "1x4");
  const JobId a = arrive(2), firm = arrive(2, 0, /*preemptible=*/false);
  decide();
  state_->now = 1;
  const JobId urgent = arrive(3, 5);
  decide();
  EXPECT_FALSE(placed(urgent)) << "one job cannot be moved, and the rest is too little";
  EXPECT_TRUE(placed(a));
  EXPECT_TRUE(placed(firm));
  EXPECT_TRUE(draft_->touched().empty());
}

TEST_F(ListTest, ALeaseDelaysAnEvictionUntilItEnds) {
  use("base: priority\nguards: [{part: minimum-lease, seconds: 60}]\n", "1x1");
  const JobId a = arrive(1);
  decide();
  state_->jobs[a].running = true;
  state_->now = 10;
  const JobId urgent = arrive(1, 5);
  decide();
  EXPECT_TRUE(placed(a));
  EXPECT_EQ(draft_->wake(), 60);
  state_->now = 60;
  change_.woke = true;
  decide();
  EXPECT_TRUE(placed(urgent));
  EXPECT_FALSE(placed(a));
}

TEST_F(ListTest, EqualsDoNotPreemptEachOther) {
  use("base: 2d-las\n", "1x1");
  const JobId a = arrive(1);
  decide();
  state_->now = 1;
  const JobId b = arrive(1);
  decide();
  EXPECT_TRUE(placed(a));
  EXPECT_FALSE(placed(b));
}

}  // namespace
}  // namespace weft
