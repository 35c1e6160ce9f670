#include "bindings/python/order.h"

#include <gtest/gtest.h>

#include <set>
#include <thread>

namespace weft::bindings {
namespace {

class FakeWork : public runtime::Work {
 public:
  Status wait() override { return {}; }
  bool done() override { return ended; }
  void cancel() override {}
  std::atomic<bool> ended = false;
};

Ticket ticket_of(Order& order) {
  const auto lock = order.lock();
  const auto ticket = order.next();
  EXPECT_TRUE(ticket.ok());
  return ticket.ok() ? *ticket : Ticket{};
}

// The streams of two callbacks of two operations, run in the given order, inline or elsewhere.
std::pair<std::uint32_t, std::uint32_t> callbacks(bool second_first, bool elsewhere) {
  Order order(7);
  Node first(ticket_of(order).lineage), second(ticket_of(order).lineage);
  const Lineage of_first = first.next_callback(), of_second = second.next_callback();
  std::pair<std::uint32_t, std::uint32_t> streams;
  const auto run = [&] {
    for (const bool is_second : {second_first, !second_first}) {
      const InCallback here(is_second ? &of_second : &of_first);
      (is_second ? streams.second : streams.first) = ticket_of(order).stream;
    }
  };
  if (elsewhere) {
    std::thread(run).join();
  } else {
    run();
  }
  return streams;
}

TEST(Order, CallbacksAreNamedByTheirOperationNotByWhenOrWhereTheyRun) {
  const auto want = callbacks(false, false);
  EXPECT_NE(want.first, want.second);
  EXPECT_EQ(callbacks(true, false), want);
  EXPECT_EQ(callbacks(false, true), want);
  EXPECT_EQ(callbacks(true, true), want);
}

TEST(Order, CallsOutsideCallbacksShareOneStream) {
  Order order(7);
  EXPECT_EQ(ticket_of(order).stream, 0u);
  EXPECT_EQ(ticket_of(order).stream, 0u);
  EXPECT_EQ(order.calls(), 2u);
}

TEST(Order, StreamsOfAllCallbacksThatCanBeUnderWayDiffer) {
  Order order(7);
  std::set<std::uint32_t> streams;
  std::size_t made = 0;
  const auto add = [&](const Lineage& lineage) {
    EXPECT_LT(lineage.stream(), 1u << 31);
    streams.insert(lineage.stream());
    ++made;
  };
  for (int call = 0; call < 500; ++call) {
    Node node(ticket_of(order).lineage);
    for (int callback = 0; callback < 3; ++callback) {
      const Lineage lineage = node.next_callback();
      add(lineage);
      Node child(lineage);
      for (int step = 0; step < 3; ++step) add(child.next_callback());
    }
  }
  for (std::uint32_t stream = 1; stream <= 300; ++stream) {
    const Named named(stream, 0);
    Node node(ticket_of(order).lineage);
    add(node.next_callback());
  }
  EXPECT_EQ(streams.size(), made);
}

TEST(Order, TwoThreadsWithOperationsUnderWayAreAmbiguous) {
  Order order(7);
  ticket_of(order);
  const auto work = std::make_shared<FakeWork>();
  order.begun(work);
  bool ok = true;
  const auto elsewhere = [&] { ok = order.next().ok(); };
  std::thread(elsewhere).join();
  EXPECT_FALSE(ok);
  work->ended = true;
  std::thread(elsewhere).join();
  EXPECT_TRUE(ok);
}

TEST(Order, ACallInACallbackOfNoSingleOperationIsAmbiguous) {
  Order order(7);
  const InCallback unknown(nullptr);
  const auto ticket = order.next();
  ASSERT_FALSE(ticket.ok());
  EXPECT_NE(ticket.error().what.find("ambiguous order"), std::string::npos);
  const Named named(5, -1);
  const auto told = order.next();
  ASSERT_TRUE(told.ok());
  EXPECT_EQ(told->stream, 5u);
  EXPECT_EQ(told->priority, -1);
}

TEST(Order, AJoinerCountsAsTheOthersDoAfterARestart) {
  Order old(7), joiner(7);
  for (int i = 0; i < 10; ++i) ticket_of(old);
  old.restart();
  Node a(ticket_of(old).lineage), b(ticket_of(joiner).lineage);
  EXPECT_EQ(a.next_callback().stream(), b.next_callback().stream());
}

}  // namespace
}  // namespace weft::bindings
