#include "sim/channel.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace weft {
namespace {

// Sends `count` outcomes (or notices) at time 0 and returns when, and in what order, they arrive.
std::vector<std::pair<Seconds, std::uint32_t>> arrivals(const Channel& options, EventKind kind,
                                                        std::uint32_t count) {
  EventQueue queue;
  LossyChannel channel(options, 1, queue);
  for (std::uint32_t i = 0; i < count; ++i) {
    Event event;
    event.kind = kind;
    event.number = i;
    channel.send(event, 0);
  }
  std::vector<std::pair<Seconds, std::uint32_t>> got;
  while (queue.next_at() < kNever) {
    const Scheduled due = queue.pop();
    got.emplace_back(due.at, channel.take(due.subject).event.number);
  }
  return got;
}

TEST(LossyChannel, DelaysAreExponentialAndReorder) {
  const auto got = arrivals({.delay_mean = 4}, EventKind::kOutcome, 20'000);
  ASSERT_EQ(got.size(), 20'000u);
  double sum = 0;
  bool reordered = false;
  for (size_t i = 0; i < got.size(); ++i) {
    sum += got[i].first;
    reordered |= i > 0 && got[i].second < got[i - 1].second;
  }
  EXPECT_NEAR(sum / 20'000, 4, 0.1);
  EXPECT_TRUE(reordered);
}

TEST(LossyChannel, OutcomesGetLostAndDoubled) {
  const auto lost = arrivals({.loss = 0.25}, EventKind::kOutcome, 10'000);
  EXPECT_NEAR(static_cast<double>(lost.size()), 7500, 200);
  const auto doubled = arrivals({.duplication = 0.25}, EventKind::kOutcome, 10'000);
  EXPECT_NEAR(static_cast<double>(doubled.size()), 12'500, 200);
}

TEST(LossyChannel, NoticesAreSentAgainUntilTheyArrive) {
  const auto got = arrivals({.loss = 0.5}, EventKind::kFinished, 10'000);
  EXPECT_EQ(got.size(), 10'000u);
  EXPECT_GT(got.back().first, 3) << "some needed several tries, a second apart";
}

TEST(LossyChannel, ACommandKeepsItsAllocationUnderWay) {
  EventQueue queue;
  LossyChannel channel({.delay_mean = 1}, 1, queue);
  {
    Allocation allocation;
    allocation.devices = {{3}, {4}};
    Command command;
    command.kind = CommandKind::kStart;
    command.job = 9;
    command.allocation = &allocation;
    channel.send(command, 0);
  }
  const LossyChannel::Message message = channel.take(queue.pop().subject);
  EXPECT_TRUE(message.to_world);
  EXPECT_EQ(message.command.job, 9u);
  EXPECT_EQ(message.allocation.devices.size(), 2u);
}

TEST(LossyChannel, RefusesAsOftenAsToldTo) {
  EventQueue queue;
  LossyChannel channel({.refusal = 0.2}, 1, queue);
  int refused = 0;
  for (int i = 0; i < 10'000; ++i) refused += channel.refuses() ? 1 : 0;
  EXPECT_NEAR(refused, 2000, 150);
}

}  // namespace
}  // namespace weft
