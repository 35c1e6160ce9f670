#include "runtime/record/stacks.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <future>
#include <thread>

#include "base/files.h"

namespace weft::runtime {
namespace {

std::string scratch(const char* name) {
  return testing::TempDir() + "/" + name + std::to_string(getpid());
}

TEST(StacksTest, EveryThreadIsInTheFile) {
  std::promise<void> end;
  const std::shared_future<void> ended = end.get_future().share();
  std::atomic<int> ready = 0;
  const auto park = [&](const char* name, bool deaf) {
    pthread_setname_np(pthread_self(), name);
    sigset_t set;
    sigemptyset(&set);
    if (deaf) sigaddset(&set, stacks_signal());
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
    ++ready;
    ended.wait();
  };
  std::thread hears(park, "hears", false), deaf(park, "deaf", true);
  while (ready < 2) std::this_thread::yield();
  const std::string path = scratch("stacks");
  for (int round = 0; round < 3; ++round) {
    const Status saved = save_stacks(path, "because of a test", 0.3);
    ASSERT_TRUE(saved.ok()) << saved.error().what;
    const auto text = read_file(path, 1 << 20);
    ASSERT_TRUE(text.ok());
    EXPECT_EQ(text->find("because of a test\n"), 0u) << *text;
    const std::size_t good = text->find(" (hears)\n"), bad = text->find(" (deaf)\n");
    ASSERT_NE(good, std::string::npos) << *text;
    ASSERT_NE(bad, std::string::npos) << *text;
    EXPECT_EQ(text->find("[0x", good) < text->find("thread", good), true) << *text;
    EXPECT_EQ(text->find("did not answer", bad), text->find('\n', bad) + 3) << *text;
  }
  end.set_value();
  hears.join();
  deaf.join();
  std::filesystem::remove(path);
}

TEST(StacksTest, AFileThatCannotBeWrittenIsAnError) {
  const Status saved = save_stacks("/nonexistent/stacks", "", 0.1);
  ASSERT_FALSE(saved.ok());
  EXPECT_NE(saved.error().what.find("/nonexistent/stacks"), std::string::npos);
}

}  // namespace
}  // namespace weft::runtime
