#include "runtime/launch/log_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <fstream>

namespace weft::runtime {
namespace {

using testing::ElementsAre;

TEST(LinePrefixer, PassesOnWholeLinesOnly) {
  LinePrefixer lines("[rank 3] ");
  std::string out;
  lines.feed("half", out);
  EXPECT_EQ(out, "");
  lines.feed(" a line\n\nnext", out);
  EXPECT_EQ(out, "[rank 3] half a line\n[rank 3] \n");
  lines.finish(out);
  EXPECT_EQ(out, "[rank 3] half a line\n[rank 3] \n[rank 3] next\n");
  lines.finish(out);
  EXPECT_EQ(out, "[rank 3] half a line\n[rank 3] \n[rank 3] next\n");
}

TEST(LinePrefixer, CutsLinesThatNeverEnd) {
  LinePrefixer lines("");
  std::string out;
  for (int i = 0; i < 100; ++i) lines.feed(std::string(1000, 'x'), out);
  EXPECT_EQ(out.size(), 6 * (kMostLineBytes + 1));
  // A line of just the most bytes is not followed by an empty one.
  LinePrefixer exact("");
  out.clear();
  exact.feed(std::string(kMostLineBytes, 'y'), out);
  EXPECT_EQ(out, "");
  exact.feed("\n", out);
  EXPECT_EQ(out, std::string(kMostLineBytes, 'y') + "\n");
}

class LogFile : public testing::Test {
 protected:
  LogFile() {
    char pattern[] = "/tmp/weft-log-test-XXXXXX";
    const int fd = mkstemp(pattern);
    EXPECT_GE(fd, 0);
    close(fd);
    path_ = pattern;
  }
  ~LogFile() override { unlink(path_.c_str()); }
  void append(const std::string& text) { std::ofstream(path_, std::ios::app) << text; }
  std::string path_;
};

TEST_F(LogFile, IsFollowedFromWhereTheProcessBegan) {
  append("an older run\n");
  FileFollower follower(path_, 13, "> ");
  std::string out;
  EXPECT_FALSE(follower.read_some(100, out));
  append("one\ntw");
  EXPECT_TRUE(follower.read_some(100, out));
  append("o\n");
  EXPECT_TRUE(follower.read_some(1, out));
  EXPECT_TRUE(follower.read_some(100, out));
  EXPECT_EQ(out, "> one\n> two\n");
}

TEST_F(LogFile, ShowsItsLastLines) {
  EXPECT_THAT(last_lines(path_, 0, 20), ElementsAre());
  append("old\n");
  append("a\nb\x1b[2J\nc\td\nunfinished");
  EXPECT_THAT(last_lines(path_, 4, 20), ElementsAre("a", "b?[2J", "c\td", "unfinished"));
  EXPECT_THAT(last_lines(path_, 4, 2), ElementsAre("c\td", "unfinished"));
  append("\n" + std::string(100'000, 'x') + "\nend\n");
  const std::vector<std::string> lines = last_lines(path_, 4, 20);
  EXPECT_THAT(lines, ElementsAre("end"));  // the half line before it is left out
  EXPECT_THAT(last_lines(path_ + ".none", 0, 20), ElementsAre());
}

}  // namespace
}  // namespace weft::runtime
