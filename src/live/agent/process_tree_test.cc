#include "live/agent/process_tree.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <thread>

#include "live/agent/agent_testing.h"

namespace weft::live {
namespace {

constexpr auto kDeadline = std::chrono::seconds(20);

bool eventually(const std::function<bool()>& condition) {
  const auto until = std::chrono::steady_clock::now() + kDeadline;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

// `sh -c script` in a test's folder T, ended with all below it.
class Shell {
 public:
  Shell(const TestFolder& folder, const std::string& script) {
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    pid_ = fork();
    if (pid_ == 0) {
      setenv("T", folder.path().c_str(), 1);
      execl("/bin/sh", "sh", "-c", script.c_str(), nullptr);
    }
  }
  ~Shell() {
    for (const pid_t below : descendants_of(getpid())) kill(below, SIGKILL);
    while (waitpid(-1, nullptr, 0) > 0) {
    }
  }
  Shell(const Shell&) = delete;
  Shell& operator=(const Shell&) = delete;
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
};

TEST(ProcessTree, SeesGrandchildrenAndNotTheDead) {
  const TestFolder folder;
  const Shell shell(folder, "(sleep 100 & sleep 100; :) & true; sleep 100; :");
  EXPECT_TRUE(eventually([&] { return descendants_of(shell.pid()).size() == 4; }))
      << descendants_of(shell.pid()).size();
}

TEST(ProcessTree, ASignalGoesToTheProgramThatCatchesIt) {
  const TestFolder folder;
  // A shell that does not know the signal above a program that does, with a helper below that would
  // die of it.
  const Shell shell(folder,
                    "sh -c 'trap \"echo caught >$T/caught\" USR1; sleep 100 & echo $! >$T/helper; "
                    "touch $T/ready; while :; do wait; done'; :");
  ASSERT_TRUE(eventually([&] { return std::filesystem::exists(folder.path("ready")); }));
  signal_command(shell.pid(), SIGUSR1);
  EXPECT_TRUE(eventually([&] { return folder.read("caught") == "caught\n"; }));
  EXPECT_EQ(kill(shell.pid(), 0), 0);
  EXPECT_EQ(waitpid(shell.pid(), nullptr, WNOHANG), 0) << "the outer shell lives";
}

TEST(ProcessTree, AnEndIsAskedOfAllWhereNobodyCatchesIt) {
  const TestFolder folder;
  const Shell shell(folder, "sleep 100 & sleep 100; :");
  ASSERT_TRUE(eventually([&] { return descendants_of(shell.pid()).size() == 2; }));
  signal_command(shell.pid(), SIGTERM);
  EXPECT_TRUE(eventually([&] { return descendants_of(getpid()).empty(); }));
}

TEST(ProcessTree, MarksAreFoundInEnvironments) {
  const TestFolder folder;
  const std::string mark = "WEFT_RUN=tree-test." + std::to_string(getpid());
  const Shell shell(folder, mark + " sleep 100");
  EXPECT_TRUE(eventually([&] { return marked_processes(mark).size() == 1; }));
  EXPECT_TRUE(marked_processes(mark + "0").empty());
  EXPECT_TRUE(marked_processes(mark.substr(0, mark.size() - 1)).empty());
}

TEST(ProcessTree, CountsTimeAndMemory) {
  const TestFolder folder;
  const Shell shell(folder, "while :; do :; done");
  EXPECT_TRUE(eventually([&] { return usage_of({shell.pid()}).cpu_s > 0.05; }));
  EXPECT_GT(usage_of({shell.pid()}).memory, 0);
}

}  // namespace
}  // namespace weft::live
