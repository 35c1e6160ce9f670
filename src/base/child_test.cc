#include "base/child.h"

#include <gtest/gtest.h>

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

TEST(Child, AProgramThatIsNotThereIsNamed) {
  const auto end = run_child({"/none/such"}, 1);
  ASSERT_FALSE(end.ok());
  EXPECT_NE(end.error().text().find("/none/such cannot be run: No such file"), std::string::npos);
}

}  // namespace
}  // namespace weft
