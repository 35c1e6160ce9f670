#include "bindings/python/completer.h"

#include <gtest/gtest.h>

#include <atomic>
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

TEST(Completer, OneThatWaitsAloneHoldsUpNobody) {
  Completer completer;
  Count stuck, others;
  completer.add({.done = [] { return false; },
                 .wait = [&] { EXPECT_TRUE(stuck.reaches(1)); },
                 .complete = [&] { others.up(); },
                 .alone = true});
  completer.add({.done = [] { return false; }, .wait = [] {}, .complete = [&] { others.up(); }});
  EXPECT_TRUE(others.reaches(1));
  stuck.up();
  EXPECT_TRUE(others.reaches(2));
}

TEST(Completer, WaitsWithOneThreadWhileNobodyIsInACallback) {
  Completer completer;
  Count go, done;
  for (int i = 0; i < 50; ++i) {
    completer.add({.done = [] { return false; },
                   .wait = [&] { EXPECT_TRUE(go.reaches(1)); },
                   .complete = [&] { done.up(); }});
  }
  EXPECT_EQ(completer.threads(), 1);
  go.up();
  EXPECT_TRUE(done.reaches(50));
  EXPECT_LE(completer.threads(), 4);
}

}  // namespace
}  // namespace weft::bindings
