#include "live/daemon/holds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "live/job/job_json.h"
#include "live/job/submission.h"

namespace weft::live {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// A board whose events are told as the controller does, and what Holds posts is folded in turn.
class HoldsTest : public testing::Test {
 protected:
  HoldsTest() : cluster_(*parse_cluster_shorthand("2x2")), board_(cluster_) {}

  JobSpec spec(const std::string& name, std::vector<JobDependency> needs = {}) {
    JobSpec job;
    job.name = name;
    job.run = "true";
    job.depends_on = std::move(needs);
    return job;
  }
  // Returns why each is held.
  std::vector<std::string> submit(const JobSpec& job) {
    std::vector<JobSpec> members = expand_array(job);
    const auto held = resolve_holds(members, board_);
    EXPECT_TRUE(held.ok()) << held.error().text();
    if (!held.ok()) return {};
    std::vector<EventRecord> records;
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (members.size() > 1) members[i].envs[kArrayVariable] = "array-" + job.name;
      EventRecord record;
      record.event.kind = EventKind::kSubmit;
      record.event.value2 = (*held)[i].empty() ? 0 : kNever;
      auto submission = std::make_shared<Submission>();
      submission->name = members[i].name;
      submission->menu = std::make_shared<Menu>(Menu{{Configuration{}}});
      record.event.submission = submission;
      record.job = JobIdentity{"uuid-" + members[i].name, "ann", 0, 0, to_json(members[i]).dump()};
      record.why = (*held)[i];
      records.push_back(record);
      board_.admit(record);
    }
    for (const EventRecord& record : records) fold(record);
    return *held;
  }
  void fold(const EventRecord& record) {
    board_.tell(record);
    if (holds_ != nullptr) holds_->take(record);
    while (!posted_.empty()) {
      const EventRecord next = posted_.front();
      posted_.erase(posted_.begin());
      log_.push_back((next.event.kind == EventKind::kRelease ? "+" : "-") +
                     board_.at(next.event.job)->name);
      board_.tell(next);
      holds_->take(next);
    }
  }
  void finish(const std::string& name) {
    EventRecord record;
    record.event.kind = EventKind::kFinished;
    record.event.job = board_.find(name)->id;
    fold(record);
  }
  void fail(const std::string& name, const std::string& why = "failed: exit 3") {
    EventRecord record;
    record.event.kind = EventKind::kWithdraw;
    record.event.job = board_.find(name)->id;
    record.why = why;
    fold(record);
  }
  std::vector<std::string> log() { return std::exchange(log_, {}); }
  void begin() {
    holds_ = std::make_unique<Holds>(
        board_, [this](EventRecord record) { posted_.push_back(std::move(record)); });
    holds_->begin();
    fold({});
  }
  std::string standing(const std::string& name) {
    return kStandingNames[static_cast<int>(board_.find(name)->standing)];
  }

  Cluster cluster_;
  Board board_;
  std::unique_ptr<Holds> holds_;
  std::vector<EventRecord> posted_;
  std::vector<std::string> log_;
};

constexpr auto kOk = DependencyCondition::kOk;
constexpr auto kAny = DependencyCondition::kAny;
constexpr auto kFailed = DependencyCondition::kFailed;

TEST_F(HoldsTest, AJobWaitsForAllThatItDependsOn) {
  begin();
  submit(spec("a"));
  submit(spec("b"));
  EXPECT_THAT(submit(spec("c", {{"a", kOk}, {"b", kAny}})),
              ElementsAre("waits for a (ok), b (any)"));
  EXPECT_EQ(standing("c"), "held");
  EXPECT_EQ(board_.find("c")->why, "waits for a (ok), b (any)");
  finish("a");
  EXPECT_THAT(log(), IsEmpty());
  fail("b");
  EXPECT_THAT(log(), ElementsAre("+c"));
  EXPECT_EQ(standing("c"), "queued");
}

TEST_F(HoldsTest, WhatCanNoLongerBeFulfilledCancelsAndSoOn) {
  begin();
  submit(spec("a"));
  submit(spec("b", {{"a", kOk}}));
  submit(spec("c", {{"b", kOk}}));
  submit(spec("d", {{"a", kFailed}}));
  submit(spec("e", {{"c", kAny}}));
  fail("a");
  EXPECT_THAT(log(), ElementsAre("-b", "+d", "-c", "+e"));
  EXPECT_EQ(standing("b"), "cancelled");
  EXPECT_EQ(board_.find("b")->why, "it depends on a (ok), which has failed");
  EXPECT_EQ(board_.find("c")->why, "it depends on b (ok), which has been cancelled");
}

TEST_F(HoldsTest, WhatIsOverBeforeDecidesAtOnce) {
  begin();
  submit(spec("a"));
  submit(spec("b"));
  finish("a");
  fail("b");
  EXPECT_THAT(submit(spec("c", {{"a", kOk}})), ElementsAre(""));
  EXPECT_EQ(standing("c"), "queued");
  std::vector<JobSpec> never = {spec("d", {{"b", kOk}})};
  EXPECT_THAT(resolve_holds(never, board_).error().text(),
              HasSubstr("it could never start: it depends on b (ok), which has failed"));
  never = {spec("d", {{"a", kFailed}})};
  EXPECT_THAT(resolve_holds(never, board_).error().text(), HasSubstr("which finished"));
  never = {spec("d", {{"nobody", kOk}})};
  EXPECT_THAT(resolve_holds(never, board_).error().text(), HasSubstr("'nobody'"));
}

TEST_F(HoldsTest, OnlySoManyMembersOfAnArrayAreUnderWay) {
  begin();
  JobSpec sweep = spec("sweep");
  sweep.array = {{{0, 4, 1}}, 2};
  EXPECT_THAT(submit(sweep), ElementsAre("", "", "waits for its turn: 2 of the array at a time",
                                         "waits for its turn: 2 of the array at a time",
                                         "waits for its turn: 2 of the array at a time"));
  EXPECT_THAT(log(), IsEmpty());
  finish("sweep.1");
  EXPECT_THAT(log(), ElementsAre("+sweep.2"));
  fail("sweep.3", "cancelled by ann");  // while it is held
  EXPECT_THAT(log(), IsEmpty());
  fail("sweep.0");
  EXPECT_THAT(log(), ElementsAre("+sweep.4"));
}

TEST_F(HoldsTest, AnArrayMayDependOnAnArray) {
  begin();
  JobSpec first = spec("first");
  first.array = {{{0, 1, 1}}, 0};
  submit(first);
  JobSpec second = spec("second", {{"first", kOk}});
  second.array = {{{0, 2, 1}}, 2};
  EXPECT_THAT(submit(second).front(), "waits for first (ok)");
  finish("first.0");
  EXPECT_THAT(log(), IsEmpty());
  finish("first.1");
  EXPECT_THAT(log(), ElementsAre("+second.0", "+second.1"));
  finish("second.0");
  EXPECT_THAT(log(), ElementsAre("+second.2"));
}

// The daemon was away while a dependency ended and a member's turn came.
TEST_F(HoldsTest, WhatCameMeanwhileIsMadeUpFor) {
  submit(spec("a"));
  submit(spec("b", {{"a", kOk}}));
  JobSpec sweep = spec("sweep");
  sweep.array = {{{0, 3, 1}}, 2};
  submit(sweep);
  finish("a");
  finish("sweep.0");
  begin();
  EXPECT_THAT(log(), ElementsAre("+b", "+sweep.2"));
}

TEST_F(HoldsTest, AReleaseThatIsOnItsWayCounts) {
  JobSpec sweep = spec("sweep");
  sweep.array = {{{0, 3, 1}}, 2};
  submit(sweep);
  finish("sweep.0");
  holds_ = std::make_unique<Holds>(
      board_, [this](EventRecord record) { posted_.push_back(std::move(record)); });
  holds_->begin();
  ASSERT_EQ(posted_.size(), 1u);
  // Its submission is told once more, as that of a job whose fold the journal had left open.
  EventRecord again;
  again.event.kind = EventKind::kSubmit;
  again.event.value2 = kNever;
  again.event.submission = std::make_shared<Submission>();
  again.job = board_.find("sweep.2")->identity;
  holds_->take(again);
  EXPECT_EQ(posted_.size(), 1u);
}

// Budgets and the like.
TEST_F(HoldsTest, AClosedGateHoldsWhatWaitsAndWhatWouldBeReleased) {
  HoldVerdict verdict;
  holds_ = std::make_unique<Holds>(
      board_, [this](EventRecord record) { posted_.push_back(std::move(record)); },
      [&](const JobView&) { return verdict; });
  submit(spec("a"));
  submit(spec("b", {{"a", DependencyCondition::kOk}}));
  const auto ask = [&] {
    holds_->ask_gate_again();
    fold({});
  };
  ask();
  EXPECT_THAT(log_, IsEmpty()) << "all may go";
  verdict.why = "budget of ann: 3 of 2 spent";
  ask();
  EXPECT_THAT(log_, ElementsAre("-a"));
  EXPECT_EQ(board_.find("a")->standing, JobStanding::kHeld);
  EXPECT_EQ(board_.find("a")->why, verdict.why);
  EXPECT_THAT(board_.find("b")->why, HasSubstr("waits for a"));
  verdict.why = "budget of ann: 3.1 of 2 spent";
  ask();
  EXPECT_EQ(log_.size(), 1u) << "that is no news";
  finish("a");
  EXPECT_EQ(board_.find("b")->why, verdict.why) << "what it waited for has come, but";
  EXPECT_EQ(board_.find("b")->standing, JobStanding::kHeld);
  verdict = {};
  log_.clear();
  ask();
  EXPECT_THAT(log_, ElementsAre("+b"));
  EXPECT_EQ(board_.find("b")->standing, JobStanding::kQueued);
}

TEST_F(HoldsTest, AJobThatThePolicyStopsIsHeldWithThat) {
  HoldVerdict verdict;
  holds_ = std::make_unique<Holds>(
      board_, [this](EventRecord record) { posted_.push_back(std::move(record)); },
      [&](const JobView&) { return verdict; });
  submit(spec("a"));
  const JobId id = board_.find("a")->id;
  holds_->stopping(id);
  EXPECT_THAT(posted_, IsEmpty()) << "it may start again";
  verdict.why = "budget of ann: 3 of 2 spent";
  holds_->stopping(id);
  holds_->stopping(id);
  ASSERT_EQ(posted_.size(), 1u);
  EXPECT_EQ(posted_[0].event.kind, EventKind::kHold);
  EXPECT_GT(posted_[0].event.value, 0) << "though its ranks are still there";
}

TEST_F(HoldsTest, AJobThatStartedBeforeItsHoldCameIsStoppedByAStricterGate) {
  HoldVerdict verdict;
  holds_ = std::make_unique<Holds>(
      board_, [this](EventRecord record) { posted_.push_back(std::move(record)); },
      [&](const JobView&) { return verdict; });
  submit(spec("a"));
  verdict.why = "budget of ann: 3 of 2 spent";
  holds_->ask_gate_again();
  ASSERT_EQ(posted_.size(), 1u);
  Allocation devices;
  devices.devices = {{0}};
  Command start;
  start.kind = CommandKind::kStart;
  start.job = board_.find("a")->id;
  start.epoch = start.number = 1;
  start.allocation = &devices;
  board_.command(0, start);  // before the hold is folded
  fold({});
  EXPECT_EQ(board_.find("a")->standing, JobStanding::kStarting);
  holds_->ask_gate_again();
  EXPECT_THAT(posted_, IsEmpty()) << "it goes on";
  verdict = {"budget of queue default: 9 of 8 spent", true};
  holds_->ask_gate_again();
  ASSERT_EQ(posted_.size(), 1u);
  EXPECT_EQ(posted_[0].event.kind, EventKind::kHold);
  EXPECT_GT(posted_[0].event.value, 0) << "also if it runs";
}

}  // namespace
}  // namespace weft::live
