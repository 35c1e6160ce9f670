#include "live/agent/rank_stacks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <future>
#include <thread>

#include "base/files.h"

namespace weft::live {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

TEST(RankStacks, EveryThreadIsThere) {
  std::promise<void> go;
  std::thread sleeper([&] { go.get_future().wait(); });
  std::string text;
  for (int i = 0; i < 1000 && text.find("S (sleeping)") == std::string::npos; ++i) {
    text = stacks_text({getpid()});
    usleep(5000);
  }
  go.set_value();
  sleeper.join();
  EXPECT_THAT(text, HasSubstr("process " + std::to_string(getpid()) + ": "));
  EXPECT_THAT(text, ContainsRegex("thread [0-9]+ \\(.*\\): R \\(running\\)"));
  EXPECT_THAT(text, HasSubstr("S (sleeping), in "));
}

TEST(RankStacks, AProcessThatIsGoneIsNoError) {
  EXPECT_EQ(stacks_text({1 << 22}), "process 4194304: \n");
}

TEST(RankStacks, WhatIsWrittenIsAddedAndNoLinkIsFollowed) {
  const std::string path = testing::TempDir() + "stacks-" + std::to_string(getpid());
  ASSERT_TRUE(append_stacks(path, "one\n", -1, -1).ok());
  ASSERT_TRUE(append_stacks(path, "two\n", -1, -1).ok());
  EXPECT_EQ(*read_file(path, 100), "one\ntwo\n");
  ASSERT_EQ(symlink(path.c_str(), (path + ".link").c_str()), 0);
  EXPECT_FALSE(append_stacks(path + ".link", "three\n", -1, -1).ok());
  unlink(path.c_str());
  unlink((path + ".link").c_str());
}

}  // namespace
}  // namespace weft::live
