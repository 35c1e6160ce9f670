#include "runtime/launch/child_process.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <thread>

#include "base/stopwatch.h"

namespace weft::runtime {
namespace {

bool holds_soon(const std::function<bool()>& condition) {
  const std::int64_t deadline = monotonic_ns() + 20'000'000'000;
  while (!condition()) {
    if (monotonic_ns() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

class Child : public testing::Test {
 protected:
  Child() {
    char pattern[] = "/tmp/weft-child-test-XXXXXX";
    EXPECT_NE(mkdtemp(pattern), nullptr);
    folder_ = pattern;
    EXPECT_TRUE(adopt_orphans().ok());
  }
  ~Child() override { std::filesystem::remove_all(folder_); }
  Result<ChildProcess> start(const std::string& script,
                             std::optional<std::string> input = std::nullopt) {
    return ChildProcess::start({"/bin/sh",
                                {"sh", "-c", script},
                                {"PATH=/usr/bin:/bin", "A=b c"},
                                folder_ + "/out",
                                folder_ + "/err",
                                std::move(input)});
  }
  std::string text(const std::string& name) const {
    std::ostringstream all;
    all << std::ifstream(folder_ + "/" + name).rdbuf();
    return all.str();
  }
  std::string folder_;
};

TEST_F(Child, WritesToItsFilesAndGivesItsCode) {
  auto child = start("echo \"$A\"; echo bad >&2; exit 3");
  ASSERT_TRUE(child.ok());
  ASSERT_TRUE(holds_soon([&] { return child->reap().has_value(); }));
  EXPECT_EQ(child->reap(), 3);
  EXPECT_FALSE(child->group_lives());
  EXPECT_EQ(text("out"), "b c\n");
  EXPECT_EQ(text("err"), "bad\n");
}

TEST_F(Child, HasASessionOfItsOwnAndNoDescriptorsOfOurs) {
  auto child = start("ps -o sid= -p $$ | tr -d ' '; echo $$; ls /proc/self/fd | wc -l");
  ASSERT_TRUE(child.ok());
  ASSERT_TRUE(holds_soon([&] { return child->reap().has_value(); }));
  std::istringstream out(text("out"));
  long session = 0, pid = 0, descriptors = 0;
  ASSERT_TRUE(out >> session >> pid >> descriptors) << text("err");
  EXPECT_EQ(session, pid);
  EXPECT_EQ(pid, child->pid());
  EXPECT_EQ(descriptors, 4);  // the three and the folder that ls reads
}

TEST_F(Child, TellsWhenItEndedByASignal) {
  auto child = start("kill -SEGV $$");
  ASSERT_TRUE(child.ok());
  pollfd ended{child->ended_fd(), POLLIN, 0};
  ASSERT_EQ(poll(&ended, 1, 20'000), 1);
  EXPECT_EQ(child->reap(), 128 + SIGSEGV);
}

TEST_F(Child, ARequestReachesTheProcessAndNotItsHelpers) {
  auto child = start(
      "trap 'echo saved' USR1; trap 'exit 0' TERM; sh -c 'echo ready; exec sleep 60' & "
      "while :; do wait $!; done");
  ASSERT_TRUE(child.ok());
  ASSERT_TRUE(holds_soon([&] { return text("out") == "ready\n"; }));
  child->signal(SIGUSR1);
  ASSERT_TRUE(holds_soon([&] { return text("out") == "ready\nsaved\n"; }));
  child->signal(SIGTERM);
  ASSERT_TRUE(holds_soon([&] { return child->reap().has_value(); }));
  EXPECT_EQ(child->reap(), 0);
  EXPECT_TRUE(child->group_lives());  // the helper
  child->signal(SIGTERM);
  EXPECT_TRUE(holds_soon([&] { return !child->group_lives(); }));
}

TEST_F(Child, AKillReachesTheWholeGroup) {
  auto child = start("trap '' TERM; sleep 60 & sleep 60 & echo ready; wait");
  ASSERT_TRUE(child.ok());
  ASSERT_TRUE(holds_soon([&] { return text("out") == "ready\n"; }));
  child->signal(SIGKILL);
  EXPECT_TRUE(holds_soon([&] { return !child->group_lives(); }));
  EXPECT_EQ(child->reap(), 128 + SIGKILL);
}

TEST_F(Child, ReadsItsInputAndThenSignals) {
  auto child = start("read a; read b; read c; echo $a $b $c", "secret\n");
  ASSERT_TRUE(child.ok());
  child->signal(SIGUSR1);
  child->signal(SIGTERM);
  ASSERT_TRUE(holds_soon([&] { return child->reap().has_value(); }));
  EXPECT_EQ(text("out"), "secret USR1 TERM\n");
}

TEST_F(Child, ThatCannotBeStartedIsNamed) {
  const auto child = ChildProcess::start(
      {"/no/such/program", {"x"}, {}, folder_ + "/out", folder_ + "/err", std::nullopt});
  ASSERT_FALSE(child.ok());
  EXPECT_NE(child.error().what.find("/no/such/program cannot be started"), std::string::npos);
}

TEST(FindProgram, LooksWhereAShellWould) {
  EXPECT_TRUE(find_program("sh").ok());
  EXPECT_TRUE(find_program("/bin/sh").ok());
  struct Row {
    const char *name, *says;
  };
  for (const Row& row :
       {Row{"no-such-program-here", "is not found in PATH"},
        Row{"/bin/none-of-that", "does not exist"},
        Row{"/etc/passwd", "is not a program that can be executed"},
        Row{"/bin/", "is not a program that can be executed"}, Row{"", "is not found in PATH"}}) {
    const auto found = find_program(row.name);
    ASSERT_FALSE(found.ok()) << row.name;
    EXPECT_NE(found.error().what.find(row.says), std::string::npos) << found.error().what;
  }
}

}  // namespace
}  // namespace weft::runtime
