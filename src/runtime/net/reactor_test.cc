#include "runtime/net/reactor.h"

#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <future>
#include <string>
#include <thread>

#include "base/stopwatch.h"

namespace weft::runtime {
namespace {

constexpr auto kDeadline = std::chrono::seconds(10);

std::unique_ptr<Reactor> started() { return std::move(Reactor::start()).value(); }

TEST(Reactor, RunsWhatIsPostedInOrderOnItsOwnThread) {
  std::string order;
  bool inside = false;
  {
    const auto reactor = started();
    EXPECT_FALSE(reactor->inside());
    for (char c = 'a'; c < 'e'; ++c) reactor->post([&order, c] { order += c; });
    reactor->call([&] { inside = reactor->inside(); });
    EXPECT_EQ(order, "abcd");
    reactor->post([&] { order += "last"; });
  }
  EXPECT_TRUE(inside);
  EXPECT_EQ(order, "abcdlast");  // the destructor waits for what was posted before
}

TEST(Reactor, TakesPostsFromManyThreads) {
  const auto reactor = started();
  int sum = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) reactor->post([&] { ++sum; });
    });
  }
  for (std::thread& thread : threads) thread.join();
  reactor->call([&] { EXPECT_EQ(sum, 4000); });
}

TEST(Reactor, RunsTimersInOrderOfTimeAndNotWhenCancelled) {
  const auto reactor = started();
  std::string order;
  std::promise<void> done;
  reactor->call([&] {
    reactor->after(0.03, [&] { order += 'c'; });
    reactor->after(0.01, [&] { order += 'a'; });
    const Reactor::Timer cancelled = reactor->after(0.02, [&] { order += 'x'; });
    reactor->after(0.02, [&] { order += 'b'; });
    reactor->after(0.04, [&] { done.set_value(); });
    reactor->cancel(cancelled);
    reactor->cancel(cancelled);
  });
  ASSERT_EQ(done.get_future().wait_for(kDeadline), std::future_status::ready);
  EXPECT_EQ(order, "abc");
}

TEST(Reactor, CallsAHandlerUntilItIsRemoved) {
  const auto reactor = started();
  int pair[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
  std::promise<void> removed;
  int calls = 0;
  reactor->call([&] {
    ASSERT_TRUE(reactor
                    ->add(pair[0], EPOLLIN,
                          [&](std::uint32_t events) {
                            EXPECT_TRUE(events & EPOLLIN);
                            if (++calls < 2) return;  // level-triggered: called again
                            reactor->remove(pair[0]);
                            removed.set_value();
                          })
                    .ok());
  });
  ASSERT_EQ(write(pair[1], "x", 1), 1);
  ASSERT_EQ(removed.get_future().wait_for(kDeadline), std::future_status::ready);
  reactor->call([] {});
  EXPECT_EQ(calls, 2);
  close(pair[0]);
  close(pair[1]);
}

// Two descriptors become ready together and the first handler to run removes the other.
TEST(Reactor, DoesNotCallARemovedHandlerForAnEventSeenBefore) {
  const auto reactor = started();
  int pair[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
  int calls = 0;
  reactor->call([&] {
    for (int i : {0, 1}) {
      const Status added = reactor->add(pair[i], EPOLLOUT, [&](std::uint32_t) {
        ++calls;
        reactor->remove(pair[0]);
        reactor->remove(pair[1]);
      });
      ASSERT_TRUE(added.ok());
    }
  });
  reactor->call([] {});
  reactor->call([] {});
  EXPECT_EQ(calls, 1);
  close(pair[0]);
  close(pair[1]);
}

TEST(Reactor, SleepsWhenThereIsNothingToDo) {
  const auto reactor = started();
  double used = 0;
  std::promise<void> done;
  reactor->call([&] {
    const double before = thread_cpu_seconds();
    reactor->after(0.2, [&, before] {
      used = thread_cpu_seconds() - before;
      done.set_value();
    });
  });
  ASSERT_EQ(done.get_future().wait_for(kDeadline), std::future_status::ready);
  EXPECT_LT(used, 0.05);
}

}  // namespace
}  // namespace weft::runtime
