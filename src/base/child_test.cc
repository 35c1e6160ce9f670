#include "base/child.h"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>

#include "base/stopwatch.h"

namespace weft {
namespace {

TEST(Child, GivesOutputAndCode) {
  struct Row {
    const char* why;
    const char* script;
    int code;
    std::string out;
  };
  for (const Row& row : std::vector<Row>{
           {"all is well", "echo good; echo day", 0, "good\nday\n"},
           {"an exit code", "echo no; exit 3", 3, "no\n"},
           {"a signal", "kill -TERM $$", 128 + 15, ""},
           {"nothing to read", "cat", 0, ""},
           {"output closed long before the end", "echo a; exec >&-; sleep 0.05; exit 4", 4, "a\n"},
           {"more than a pipe holds", "head -c 300000 /dev/zero | tr '\\0' x", 0,
            std::string(300000, 'x')}}) {
    SCOPED_TRACE(row.why);
    const auto end = run_child({"/bin/sh", "-c", row.script}, 20);
    ASSERT_TRUE(end.ok());
    EXPECT_EQ(end->code, row.code);
    EXPECT_EQ(end->out, row.out);
    EXPECT_FALSE(end->timed_out);
  }
}

TEST(Child, IsKilledAtTheDeadline) {
  for (const char* script :
       {"echo begun; exec sleep 100", "echo begun; exec >&-; exec sleep 100"}) {
    SCOPED_TRACE(script);
    const std::int64_t before = monotonic_ns();
    const auto end = run_child({"/bin/sh", "-c", script}, 0.3);
    ASSERT_TRUE(end.ok());
    EXPECT_TRUE(end->timed_out);
    EXPECT_EQ(end->code, 128 + 9);
    EXPECT_EQ(end->out, "begun\n");
    EXPECT_LT(monotonic_ns() - before, 50'000'000'000);
  }
}

TEST(Child, KeepsNoMoreOutputThanAllowed) {
  const auto end = run_child({"/bin/sh", "-c", "head -c 300000 /dev/zero"}, 20, 1000);
  ASSERT_TRUE(end.ok());
  EXPECT_EQ(end->code, 0);
  EXPECT_EQ(end->out.size(), 1000u);
}

TEST(Children, RunTogetherAndGiveTheirEndsInOrder) {
  // Each waits for what the other makes, so one after the other would never end.
  std::string folder = testing::TempDir() + "weft-children-XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const auto script = [&](const char* mine, const char* other) {
    return fmt::format("cd {} && : >{} && while [ ! -e {} ]; do sleep 0.01; done; echo {}", folder,
                       mine, other, mine);
  };
  const auto ends =
      run_children({{"/bin/sh", "-c", script("a", "b")}, {"sh", "-c", script("b", "a")}}, 20);
  std::filesystem::remove_all(folder);
  ASSERT_TRUE(ends.ok());
  ASSERT_EQ(ends->size(), 2u);
  EXPECT_EQ((*ends)[0].out, "a\n");
  EXPECT_EQ((*ends)[1].out, "b\n");
  EXPECT_EQ((*ends)[0].code, 0);
  EXPECT_EQ((*ends)[1].code, 0);
}

TEST(Children, AreKilledWhenOneFailsAndAtTheDeadline) {
  struct Row {
    const char* why;
    const char* script;
    double timeout_s;
    int code;
    bool timed_out;
  };
  for (const Row& row :
       {Row{"one fails: the other soon goes too", "exit 3", 50, 3, false},
        Row{"the deadline comes before the grace is over", "exit 3", 0.2, 3, false},
        Row{"one ends well: the other goes at the deadline", "exit 0", 0.2, 0, true}}) {
    SCOPED_TRACE(row.why);
    const std::int64_t before = monotonic_ns();
    const auto ends = run_children({{"sh", "-c", row.script}, {"sleep", "100"}}, row.timeout_s);
    ASSERT_TRUE(ends.ok());
    EXPECT_EQ((*ends)[0].code, row.code);
    EXPECT_FALSE((*ends)[0].timed_out);
    EXPECT_EQ((*ends)[1].code, 128 + 9);
    EXPECT_EQ((*ends)[1].timed_out, row.timed_out);
    EXPECT_LT(monotonic_ns() - before, 45'000'000'000);
  }
}

TEST(Children, NoneStaysWhenOneCannotBeStarted) {
  const auto ends = run_children({{"sleep", "100"}, {"/none/such"}}, 50);
  ASSERT_FALSE(ends.ok());
  EXPECT_NE(ends.error().text().find("/none/such cannot be run"), std::string::npos);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);  // no child is left
}

TEST(Child, AProgramThatIsNotThereIsNamed) {
  const auto end = run_child({"/none/such"}, 1);
  ASSERT_FALSE(end.ok());
  EXPECT_NE(end.error().text().find("/none/such cannot be run: No such file"), std::string::npos);
}

}  // namespace
}  // namespace weft
