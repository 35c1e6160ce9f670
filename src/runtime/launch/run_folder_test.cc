#include "runtime/launch/run_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

namespace weft::runtime {
namespace {

TEST(RunFolder, HoldsTheSecretForItsOwnerAlone) {
  const auto secret = Secret::fresh();
  ASSERT_TRUE(secret.ok());
  std::string path;
  {
    const auto folder = RunFolder::make(*secret);
    ASSERT_TRUE(folder.ok()) << folder.error().text();
    path = folder->path();
    const auto read = Secret::from_file(folder->secret_path());
    ASSERT_TRUE(read.ok()) << read.error().text();
    EXPECT_TRUE(*read == *secret);
    struct stat facts = {};
    ASSERT_EQ(stat(path.c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 0777, 0700u);
    ASSERT_EQ(stat(folder->secret_path().c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 0777, 0600u);
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(RunFolder, KeepsLogsButNeverTheSecret) {
  std::string path;
  {
    auto folder = RunFolder::make(*Secret::fresh());
    ASSERT_TRUE(folder.ok());
    path = folder->path();
    std::ofstream(path + "/log") << "why it failed\n";
    folder->keep();
  }
  EXPECT_TRUE(std::filesystem::exists(path + "/log"));
  EXPECT_FALSE(std::filesystem::exists(path + "/secret"));
  std::filesystem::remove_all(path);
}

TEST(RunFolder, NamesAndPortsAreFresh) {
  const auto a = fresh_uuid(), b = fresh_uuid();
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_NE(*a, *b);
  EXPECT_THAT(*a,
              testing::MatchesRegex("[0-9a-f]+-[0-9a-f]+-4[0-9a-f]+-[89ab][0-9a-f]+-[0-9a-f]+"));
  EXPECT_EQ(a->size(), 36u);
  const auto port = free_port();
  ASSERT_TRUE(port.ok());
  EXPECT_GT(*port, 1023);
}

}  // namespace
}  // namespace weft::runtime
