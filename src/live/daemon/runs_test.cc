// What follows for the controller from what agents say of a run.
#include "live/daemon/runs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "live/job/job_json.h"

namespace weft::live {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;

class RunsTest : public testing::Test {
 protected:
  RunsTest()
      : cluster_(*parse_cluster_shorthand("2x2")),
        runs_(cluster_, 1, "/logs",
              RunsLinks{
                  [this](NodeId node, const Json& message) { said_.emplace_back(node, message); },
                  nullptr,
                  [this](EventRecord record, std::function<void()> durable) {
                    told_.push_back(std::move(record));
                    durable_.push_back(std::move(durable));
                  },
                  [this] { return now_; }}) {}

  JobView job(std::uint32_t failures = 0, std::uint32_t in_row = 0) {
    JobSpec spec;
    spec.name = "j";
    spec.run = "true";
    spec.retries = {3, 10, 60};
    JobView view;
    view.id = 5;
    view.identity = {"u", "ann", 0, 0, to_json(spec).dump()};
    view.epoch = 1;
    view.failures = failures;
    view.failed_in_row = in_row;
    return view;
  }
  void start(const JobView& view, std::vector<DeviceId> devices) {
    KeptCommand command{CommandKind::kStart, 5, 1, 1, kNever, {}};
    for (const DeviceId device : devices) command.allocation.devices.push_back({device});
    runs_.carry_out(command, view);
  }

  Cluster cluster_;
  Seconds now_ = 1000;
  std::vector<std::pair<NodeId, Json>> said_;
  std::vector<EventRecord> told_;
  std::vector<std::function<void()>> durable_;
  Runs runs_;
};

TEST_F(RunsTest, OnlyTheFirstFailureInARowIsTriedAgainAtOnce) {
  struct Row {
    std::uint32_t failures, in_row;  // before
    Seconds ran;
    Seconds pause;  // below 0: it is given up, nothing to wait for
    std::uint32_t makes;
  };
  for (const Row& row : {Row{0, 0, 1, 0, 1}, Row{1, 1, 1, 10, 2}, Row{2, 2, 60, 20, 3},
                         Row{2, 2, 61, 0, 1}, Row{3, 1, 1, -1, 2}}) {
    start(job(row.failures, row.in_row), {0});
    runs_.outcome(0, "u", 1, 1, "done", "");
    told_.clear();
    now_ += row.ran;
    runs_.ended(0, "u", 1, 0, 3, 0, "");
    ASSERT_EQ(told_.size(), row.pause >= 0 ? 2u : 1u) << row.failures;
    if (row.pause >= 0) {
      EXPECT_EQ(told_[0].event.kind, EventKind::kHoldBack) << "before it is back in the queue";
      EXPECT_EQ(told_[0].event.value, now_ + row.pause);
      EXPECT_THAT(told_[1].why, HasSubstr("rank 0 exited with 3; again a"));
    }
    EXPECT_EQ(told_.back().event.kind, EventKind::kCrashed);
    EXPECT_EQ(told_.back().event.number, row.makes);
    durable_.back()();
    EXPECT_EQ(runs_.size(), 0u);
  }
}

TEST_F(RunsTest, ALostNodeIsNoFailureOfTheJob) {
  start(job(), {0, 2});
  runs_.outcome(0, "u", 1, 1, "done", "");
  runs_.outcome(1, "u", 1, 1, "done", "");
  told_.clear();
  runs_.gone(1, true, "fenced");
  EXPECT_TRUE(told_.empty()) << "the other node's ranks are still there";
  runs_.outcome(0, "u", 1, 0x7fffffff, "done", "");
  ASSERT_EQ(told_.size(), 1u);
  EXPECT_EQ(told_[0].event.kind, EventKind::kCrashed);
  EXPECT_EQ(told_[0].event.number, 0u);
  EXPECT_EQ(told_[0].event.node, 1u);
}

// Else a job that always fails at once would be started for ever.
TEST_F(RunsTest, AFailureBeforeAllHaveBegunCountsToo) {
  start(job(), {0, 2});
  runs_.outcome(0, "u", 1, 1, "done", "");
  runs_.ended(0, "u", 1, 0, 3, 0, "");
  runs_.outcome(1, "u", 1, 0x7fffffff, "done", "");
  ASSERT_EQ(told_.size(), 3u);
  EXPECT_EQ(told_[0].event.kind, EventKind::kOutcome);
  EXPECT_EQ(told_[0].event.outcome, Outcome::kDone);
  EXPECT_EQ(told_[1].event.kind, EventKind::kHoldBack);
  EXPECT_TRUE(is_own_failure(told_[2].event));
}

}  // namespace
}  // namespace weft::live
