#include "base/files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace weft {
namespace {

namespace fs = std::filesystem;

class FilesTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        fs::temp_directory_path() / ("weft-files-" + std::to_string(::getpid()) + "-" +
                                     testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  long entries() const {
    return std::distance(fs::directory_iterator(folder_), fs::directory_iterator());
  }

  fs::path folder_;
};

TEST_F(FilesTest, ReadsWhatWasWritten) {
  const std::string content("line\n\0byte", 10);
  ASSERT_TRUE(write_file_atomically(path("a"), content).ok());
  const Result<std::string> read = read_file(path("a"), 10);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(*read, content);
  EXPECT_EQ(entries(), 1);
}

TEST_F(FilesTest, AnEmptyFileIsEmptyText) {
  ASSERT_TRUE(write_file_atomically(path("a"), "").ok());
  EXPECT_EQ(*read_file(path("a"), 0), "");
}

TEST_F(FilesTest, RefusesAFileOverTheLimitAndNamesBoth) {
  ASSERT_TRUE(write_file_atomically(path("a"), "12345678901").ok());
  const Result<std::string> read = read_file(path("a"), 10);
  ASSERT_FALSE(read.ok());
  EXPECT_NE(read.error().what.find("11 bytes"), std::string::npos) << read.error().what;
  EXPECT_NE(read.error().what.find("limit is 10"), std::string::npos) << read.error().what;
}

TEST_F(FilesTest, RefusesAHugeSparseFileWithoutReadingIt) {
  std::ofstream(path("huge")).put('x');
  fs::resize_file(path("huge"), std::uintmax_t{10} << 30);
  EXPECT_FALSE(read_file(path("huge"), std::uint64_t{4} << 30).ok());
}

TEST_F(FilesTest, RefusesFoldersDevicesAndWhatDoesNotExist) {
  EXPECT_NE(read_file(folder_.string(), 10).error().what.find("folder"), std::string::npos);
  EXPECT_NE(read_file("/dev/zero", 10).error().what.find("device"), std::string::npos);
  const Result<std::string> missing = read_file(path("none"), 10);
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().kind, ErrorKind::kNotFound);
}

TEST_F(FilesTest, ReadsAPipeUpToTheLimit) {
  for (const std::uint64_t limit : {5, 4}) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    ASSERT_EQ(::write(ends[1], "hello", 5), 5);
    ::close(ends[1]);
    const Result<std::string> read = read_file("/dev/fd/" + std::to_string(ends[0]), limit);
    EXPECT_EQ(read.ok(), limit == 5);
    if (read.ok()) {
      EXPECT_EQ(*read, "hello");
    }
    ::close(ends[0]);
  }
}

TEST_F(FilesTest, AFailedWriteLeavesTheOldFileAndNothingBeside) {
  ASSERT_TRUE(write_file_atomically(path("a"), "old").ok());
  fs::create_directory(path("folder"));
  EXPECT_FALSE(write_file_atomically(path("folder"), "new").ok());
  EXPECT_FALSE(write_file_atomically(path("none/a"), "new").ok());
  EXPECT_EQ(*read_file(path("a"), 10), "old");
  EXPECT_EQ(entries(), 2);
}

TEST_F(FilesTest, ReplacesAFileThroughALinkAndKeepsItsMode) {
  ASSERT_TRUE(write_file_atomically(path("a"), "old").ok());
  ASSERT_EQ(::chmod(path("a").c_str(), 0640), 0);
  fs::create_symlink("a", path("link"));
  ASSERT_TRUE(write_file_atomically(path("link"), "new").ok());
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(*read_file(path("a"), 10), "new");
  struct stat info {};
  ASSERT_EQ(::stat(path("a").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0640U);
}

TEST_F(FilesTest, WritesThroughAPipe) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ASSERT_TRUE(write_file_atomically("/dev/fd/" + std::to_string(ends[1]), "hello").ok());
  char got[6] = {};
  EXPECT_EQ(::read(ends[0], got, 5), 5);
  EXPECT_STREQ(got, "hello");
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST(Paths, FolderAndName) {
  EXPECT_EQ(folder_of("a/b/c.csv"), "a/b");
  EXPECT_EQ(folder_of("c.csv"), ".");
  EXPECT_EQ(folder_of("/c.csv"), "/");
  EXPECT_EQ(path_in("a/b", "c"), "a/b/c");
  EXPECT_EQ(path_in("/", "c"), "/c");
  EXPECT_EQ(path_in(".", "c"), "c");
  EXPECT_EQ(path_in("a", "/c"), "/c");
}

}  // namespace
}  // namespace weft
