#include "live/agent/folder.h"
#include "base/files.h"

#include <unistd.h>

#include "live/agent/agent_testing.h"

namespace weft::live {
namespace {

const RunKey kRun{"a-1", 3};

TEST(AgentFolder, HasOneAgentAtATime) {
  const TestFolder folder;
  const FolderPaths paths{folder.path("node")};
  const auto first = open_folder(paths);
  ASSERT_TRUE(first.ok());
  const auto second = open_folder(paths);
  ASSERT_FALSE(second.ok());
  EXPECT_NE(second.error().what.find("another agent"), std::string::npos);
  close(*first);
  const auto third = open_folder(paths);
  EXPECT_TRUE(third.ok());
  close(*third);
}

TEST(AgentFolder, RefusesPathsThatSocketsCannotHave) {
  EXPECT_FALSE(open_folder({"relative"}).ok());
  EXPECT_FALSE(open_folder({"/tmp/" + std::string(100, 'x')}).ok());
}

TEST(Claim, IsMadeOnceAndHeldWhileItsMakerLives) {
  const TestFolder folder;
  const FolderPaths paths{folder.path("node")};
  const auto lock = open_folder(paths);
  ASSERT_TRUE(lock.ok());
  EXPECT_FALSE(look_at_claim(paths, kRun, 0));
  {
    auto claim = Claim::make(paths, kRun, 0);
    ASSERT_TRUE(claim.ok());
    EXPECT_FALSE(Claim::make(paths, kRun, 0).ok());
    EXPECT_TRUE(Claim::make(paths, kRun, 1).ok());
    ASSERT_TRUE(claim->set_command(4711).ok());
    const auto facts = look_at_claim(paths, kRun, 0);
    ASSERT_TRUE(facts);
    EXPECT_TRUE(facts->held);
    EXPECT_EQ(facts->keeper, getpid());
    EXPECT_EQ(facts->command, 4711);
  }
  EXPECT_FALSE(look_at_claim(paths, kRun, 0)->held);
  EXPECT_FALSE(Claim::make(paths, kRun, 0).ok()) << "it stays when its maker is gone";
  ASSERT_EQ(old_runs(paths).size(), 1U);
  EXPECT_EQ(old_runs(paths)[0].key, kRun);
  EXPECT_FALSE(old_runs(paths)[0].stopped);
  ASSERT_TRUE(write_file_durably(paths.tombstone({"b", 1}), "").ok());
  EXPECT_TRUE(old_runs(paths)[1].stopped);
  drop_claims(paths, kRun);
  EXPECT_EQ(old_runs(paths).size(), 1U);
  close(*lock);
}

TEST(RankEnd, IsReadAsItWasWrittenAndNotHalf) {
  const TestFolder folder;
  const FolderPaths paths{folder.path("node")};
  const auto lock = open_folder(paths);
  ASSERT_TRUE(lock.ok());
  std::filesystem::create_directories(paths.run(kRun));
  EXPECT_FALSE(read_end(paths, kRun, 2));
  ASSERT_TRUE(write_end(paths, kRun, 2, {3, 0, "memory limit", true, 1.5}).ok());
  const auto end = read_end(paths, kRun, 2);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->code, 3);
  EXPECT_EQ(end->why, "memory limit");
  EXPECT_TRUE(end->ran);
  EXPECT_EQ(end->at_s, 1.5);
  for (const char* torn : {"", "{", R"({"code": "x"})", R"({"code": 999})"}) {
    folder.write("node/runs/a-1.3/end.2", torn);
    EXPECT_FALSE(read_end(paths, kRun, 2)) << torn;
  }
  EXPECT_EQ(kept_runs(paths), std::vector{kRun});
  close(*lock);
}

}  // namespace
}  // namespace weft::live
