#include "live/agent/rank_log.h"

#include <sys/stat.h>
#include <unistd.h>

#include "live/agent/agent_testing.h"

namespace weft::live {
namespace {

TEST(RankLog, KeepsNoMoreThanItMayAndTheLastOfIt) {
  const TestFolder folder;
  auto log = RankLog::open(folder.path("deep/logs"), 3, 1000, -1, -1);
  ASSERT_TRUE(log.ok());
  for (int i = 0; i < 500; ++i) log->write("line " + std::to_string(i) + "\n");
  const std::string now = folder.read("deep/logs/rank-3.log");
  const std::string before = folder.read("deep/logs/rank-3.log.1");
  EXPECT_LE(now.size() + before.size(), 1100U);
  EXPECT_GE(before.size(), 500U);
  EXPECT_TRUE((before + now).ends_with("line 498\nline 499\n"));
}

TEST(RankLog, GoesOnWhereItWas) {
  const TestFolder folder;
  for (const char* line : {"one\n", "two\n"}) {
    auto log = RankLog::open(folder.path("logs"), 0, 1 << 20, -1, -1);
    ASSERT_TRUE(log.ok());
    log->write(line);
  }
  EXPECT_EQ(folder.read("logs/rank-0.log"), "one\ntwo\n");
}

TEST(RankLog, FollowsNoLinkAndWritesWithTheUsersRights) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can write as somebody else";
  constexpr int kNobody = 65534;
  const TestFolder folder;
  chmod(folder.path().c_str(), 0755);
  folder.write("precious", "mine");
  {
    auto log = RankLog::open(folder.path("logs"), 0, 1 << 20, kNobody, kNobody);
    ASSERT_TRUE(log.ok());
  }
  struct stat facts = {};
  ASSERT_EQ(stat(folder.path("logs/rank-0.log").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_uid, static_cast<uid_t>(kNobody));
  ASSERT_EQ(symlink(folder.path("precious").c_str(), folder.path("logs/rank-1.log").c_str()), 0);
  EXPECT_FALSE(RankLog::open(folder.path("logs"), 1, 1 << 20, kNobody, kNobody).ok());
  EXPECT_EQ(folder.read("precious"), "mine");
}

}  // namespace
}  // namespace weft::live
