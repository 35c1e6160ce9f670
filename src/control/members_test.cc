// Jobs that are resized in place: which changes keep their ranks alive.
#include <gtest/gtest.h>

#include "base/archive.h"
#include "control/control_testing.h"
#include "control/persist.h"

namespace weft {
namespace {

class MembersTest : public ControlTest {
 protected:
  // Offers one to four devices, by configurations 0 to 3, and three under another codec by 4.
  JobId submit_elastic(bool in_place) {
    auto menu = std::make_shared<Menu>();
    for (std::uint32_t devices = 1; devices <= 4; ++devices) {
      Configuration& c = menu->configurations.emplace_back();
      c.devices = devices;
      c.rate = devices;
      c.pack = devices <= 2 ? Level::kNode : Level::kCluster;
    }
    menu->configurations.push_back(menu->configurations[2]);
    menu->configurations.back().codec = "int8";
    menu->configurations.back().rate = 100;  // of equals the fastest is taken
    auto submission = std::make_shared<Submission>();
    submission->menu = menu;
    submission->elastic = true;
    submission->in_place = in_place;
    Event event;
    event.kind = EventKind::kSubmit;
    event.at = now_;
    event.submission = submission;
    return controller_.handle(event);
  }
  static Allocation on(const std::vector<DeviceId>& devices, std::uint16_t milli = kWhole) {
    Allocation allocation = whole_devices(devices);
    for (DeviceShare& share : allocation.devices) share.milli = milli;
    allocation.configuration = static_cast<std::uint16_t>(devices.size() - 1);
    return allocation;
  }
  JobId run_on(const Allocation& held, bool in_place = true) {
    const JobId id = submit_elastic(in_place);
    decide([&](Draft& draft) { draft.start(id, held); });
    answer(executor_.last());
    return id;
  }
};

TEST_F(MembersTest, RanksStayWhereTheyOnlyComeOrOnlyGoAndTheFirstNodeStays) {
  const struct {
    const char* what;
    bool in_place;
    Allocation from, to;
    CommandKind want;
  } kRows[] = {
      {"one more", true, on({0}), on({0, 1}), CommandKind::kResize},
      {"more on another node", true, on({0, 1}), on({0, 1, 2, 3}), CommandKind::kResize},
      {"fewer", true, on({0, 1, 2, 3}), on({0}), CommandKind::kResize},
      {"fewer, and the first device goes", true, on({0, 1}), on({1}), CommandKind::kResize},
      {"without the word for it", false, on({0}), on({0, 1}), CommandKind::kStop},
      {"one goes and one comes", true, on({0, 1}), on({0, 2}), CommandKind::kStop},
      {"the first node goes", true, on({0, 2}), on({2}), CommandKind::kStop},
      {"another node becomes the first", true, on({2}), on({0, 2}), CommandKind::kStop},
      {"other shares too", true, on({0}, 500), on({0, 1}), CommandKind::kStop},
  };
  for (const auto& row : kRows) {
    const JobId id = run_on(row.from, row.in_place);
    decide([&](Draft& draft) { draft.move(id, row.to); });
    EXPECT_EQ(executor_.last().kind, row.want) << row.what;
    tell(about_job(EventKind::kWithdraw, id));
    answer(executor_.last());
    if (standing(id) != Standing::kIdle) answer(executor_.last());  // the stop that followed
    ASSERT_EQ(controller_.state().ledger.free_whole_total(), 4u) << row.what;
  }
}

TEST_F(MembersTest, AnotherCodecIsAnotherRun) {
  const JobId id = run_on(on({0}));
  Allocation other = on({0, 1, 2});
  other.configuration = 4;
  decide([&](Draft& draft) { draft.move(id, other); });
  EXPECT_EQ(executor_.last().kind, CommandKind::kStop);
}

TEST_F(MembersTest, DevicesThatAreLeftAreFreeOnceItIsConfirmed) {
  const JobId id = run_on(on({0, 1}));
  const JobId next = submit(1);
  decide([&](Draft& draft) {
    draft.move(id, on({0}));
    draft.start(next, whole_devices({1}));
  });
  EXPECT_EQ(executor_.last().kind, CommandKind::kResize);
  const SentCommand resize = executor_.last();
  tell(about_job(EventKind::kWithdraw, id));
  EXPECT_EQ(executor_.last().kind, CommandKind::kResize) << "one change at a time";
  answer(resize);
  EXPECT_EQ(standing(id), Standing::kStopping);
  EXPECT_EQ(standing(next), Standing::kStarting);
}

TEST_F(MembersTest, AFailedOneGivesEverythingBack) {
  const JobId id = run_on(on({0}));
  decide([&](Draft& draft) { draft.move(id, on({0, 1})); });
  tell(about_job(EventKind::kCrashed, id, executor_.last().epoch));
  EXPECT_EQ(standing(id), Standing::kIdle);
  EXPECT_EQ(job(id).phase, Phase::kWaiting);
  EXPECT_EQ(controller_.state().ledger.free_whole_total(), 4u);
}

// The ranks there, of one device each, are gone.
Event lost_rank(JobId id, std::uint32_t epoch, NodeId node) {
  Event lost = about_job(EventKind::kLost, id, epoch);
  lost.node = node;
  lost.number = 1;
  return lost;
}

TEST_F(MembersTest, WhatIsLeftAfterALossGoesOnIfItCan) {
  const struct {
    const char* what;
    Allocation from;
    NodeId node;
    std::vector<DeviceId> left;  // none: all of it is stopped
  } kRows[] = {
      {"one of two nodes", on({0, 1, 2, 3}), 1, {0, 1}},
      {"where they meet", on({0, 1, 2, 3}), 0, {}},
      {"a node where it has none", on({0, 1}), 1, {0, 1}},
  };
  for (const auto& row : kRows) {
    const JobId id = run_on(row.from);
    const std::size_t before = sent();
    tell(lost_rank(id, executor_.last().epoch, row.node));
    if (row.left.empty()) {
      EXPECT_EQ(executor_.last().kind, CommandKind::kStop) << row.what;
      EXPECT_EQ(job(id).phase, Phase::kWaiting) << row.what;
    } else {
      EXPECT_EQ(sent(), before) << "nothing is asked of what still runs: " << row.what;
      EXPECT_EQ(job(id).held, on(row.left)) << row.what;
      EXPECT_EQ(controller_.dispatch().pursuit(id).used, job(id).held) << row.what;
      EXPECT_EQ(job(id).devices_running, static_cast<double>(row.left.size())) << row.what;
      EXPECT_EQ(job(id).restarts, 0) << row.what;
    }
    tell(about_job(EventKind::kWithdraw, id));
    answer(executor_.last());
    ASSERT_EQ(controller_.state().ledger.free_whole_total(), 4u) << row.what;
  }
}

TEST_F(MembersTest, ALossInTheMiddleOfAChangeIsARestart) {
  const JobId id = run_on(on({0, 2}));
  decide([&](Draft& draft) { draft.move(id, on({0, 1, 2, 3})); });
  const SentCommand resize = executor_.last();
  tell(lost_rank(id, resize.epoch, 1));
  EXPECT_EQ(standing(id), Standing::kResizing);
  answer(resize);
  EXPECT_EQ(executor_.last().kind, CommandKind::kStop);
}

// The policy heard that the node is out of service before it heard of the loss.
TEST_F(MembersTest, ALossOfWhatIsBeingLeftChangesNothing) {
  const JobId id = run_on(on({0, 1, 2, 3}));
  decide([&](Draft& draft) { draft.move(id, on({0, 1})); });
  const SentCommand resize = executor_.last();
  const std::size_t before = sent();
  tell(lost_rank(id, resize.epoch, 1));
  EXPECT_EQ(standing(id), Standing::kResizing);
  answer(resize);
  EXPECT_EQ(sent(), before);
  EXPECT_EQ(standing(id), Standing::kRunning);
  EXPECT_EQ(job(id).held, on({0, 1}));
  EXPECT_EQ(job(id).restarts, 0);
}

TEST(Elasticity, IsKeptInTheByteThatWasThereBefore) {
  for (const auto& [elastic, in_place] :
       {std::pair(false, false), std::pair(true, false), std::pair(true, true)}) {
    Submission submission;
    submission.elastic = elastic;
    submission.in_place = in_place;
    ArchiveWriter writer;
    persist_elasticity(writer, submission);
    const std::string bytes = writer.take();
    ASSERT_EQ(bytes.size(), 1u);
    EXPECT_EQ(bytes[0], elastic + in_place) << "0 and 1 are what a flag was written as";
    Submission read;
    ArchiveReader reader(bytes);
    persist_elasticity(reader, read);
    EXPECT_TRUE(reader.at_end());
    EXPECT_EQ(std::pair(read.elastic, read.in_place), std::pair(elastic, in_place));
  }
  ArchiveReader wrong(std::string_view("\x03", 1));
  Submission read;
  persist_elasticity(wrong, read);
  EXPECT_FALSE(wrong.ok());
}

}  // namespace
}  // namespace weft
