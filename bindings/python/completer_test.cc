#include "bindings/python/completer.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>

namespace weft::bindings {
namespace {

// Counts to be waited for, with a limit so that a failure ends.
class Count {
 public:
  void up() {
    const std::lock_guard lock(mutex_);
    ++count_;
    changed_.notify_all();
  }
  bool reaches(int want) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(20), [&] { return count_ >= want; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int count_ = 0;
};

TEST(Completer, ACallbackMayWaitForAnOperationThatWasCalledInIt) {
  Completer completer;
  Count outer;
  constexpr int kTasks = 20;
  for (int i = 0; i < kTasks; ++i) {
    completer.add({.done = [] { return false; },
                   .wait = [] {},
                   .complete =
                       [&] {
                         Count inner;
                         completer.add({.done = [] { return true; },
                                        .wait = [] {},
                                        .complete = [&] { inner.up(); }});
                         EXPECT_TRUE(inner.reaches(1));
                         outer.up();
                       }});
  }
  EXPECT_TRUE(outer.reaches(kTasks));
}

TEST(Completer, AnOperationThatNeedsAYoungerOneIsNotWaitedForAlone) {
  Completer completer;
  Count younger, done;
  completer.add({.done = [] { return false; },
                 .wait = [&] { EXPECT_TRUE(younger.reaches(1)); },
                 .complete = [&] { done.up(); }});
  completer.add({.done = [] { return false; },
                 .wait = [] {},
                 .complete =
                     [&] {
                       younger.up();
                       done.up();
                     }});
  EXPECT_TRUE(done.reaches(2));
}

TEST(Completer, FewThreadsServeOperationsThatEndSoon) {
  Completer completer;
  Count done;
  for (int i = 0; i < 500; ++i) {
    completer.add({.done = [] { return false; }, .wait = [] {}, .complete = [&] { done.up(); }});
  }
  EXPECT_TRUE(done.reaches(500));
  EXPECT_LE(completer.threads(), 8);
}

}  // namespace
}  // namespace weft::bindings
