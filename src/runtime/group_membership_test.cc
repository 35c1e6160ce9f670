// Ranks that leave, die and join: the others are told in time and go on with the right sums.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <thread>

#include "runtime/group_testing.h"

namespace weft::runtime {
namespace {

using testing::HasSubstr;

class GroupMembership : public testing::TestWithParam<Medium> {};
INSTANTIATE_TEST_SUITE_P(All, GroupMembership, testing::ValuesIn(ways()),
                         [](const auto& p) { return name_of(p.param); });

// Sums until it fails, and says why. Every sum that ends well must be right.
std::string sum_until_error(Group& group, float own, float want, std::size_t count) {
  while (true) {
    std::vector<float> data(count, own);
    const Status status = group.all_reduce(data.data(), count, kF32, ReduceOp::kSum)->wait();
    if (!status.ok()) return status.error().what;
    for (const float x : data) {
      if (x != want) return fmt::format("a wrong sum: {} instead of {}", x, want);
    }
  }
}

void expect_sum(Group& group, float own, float want) {
  for (const std::size_t count : {1u, 1000u, 200'001u}) {
    std::vector<float> data(count, own);
    const Status status = group.all_reduce(data.data(), count, kF32, ReduceOp::kSum)->wait();
    ASSERT_TRUE(status.ok()) << status.error().what << " (member "
                             << group.membership().members[static_cast<std::size_t>(group.rank())]
                             << " of " << group.size() << ", " << count << ")";
    for (const float x : data) ASSERT_EQ(x, want);
  }
}

TEST_P(GroupMembership, TheDeathOfARankIsNoticedAndTheOthersGoOn) {
  for (const int ranks : {2, 3, 4}) {
    for (const std::size_t count : {std::size_t{100}, std::size_t{100'000}}) {
      for (const int victim : {0, ranks - 1}) {
        SCOPED_TRACE(fmt::format("rank {} of {}, {} elements", victim, ranks, count));
        Ranks world(ranks, GetParam());
        world.start();
        const auto all = static_cast<float>(ranks * (ranks + 1) / 2);
        std::atomic<double> killed = 0;
        world.run([&](int rank, Group& group) {
          const auto own = static_cast<float>(rank + 1);
          if (rank == victim) {
            for (int i = 0; i < 5; ++i) {
              std::vector<float> data(count, own);
              ASSERT_TRUE(group.all_reduce(data.data(), count, kF32, ReduceOp::kSum)->wait().ok());
            }
            killed = steady_now();
            world.kill(victim);
            return;
          }
          EXPECT_THAT(sum_until_error(group, own, all, count),
                      HasSubstr(fmt::format("rank {} ", victim)));
          const double noticed = steady_now();
          EXPECT_LT(noticed - killed, 0.2 * time_factor());
          const auto membership = group.reform(2 * time_factor());
          ASSERT_TRUE(membership.ok()) << membership.error().what;
          EXPECT_EQ(membership->size(), ranks - 1);
          EXPECT_EQ(membership->number, 1u);
          EXPECT_EQ(group.lost_seats(), std::vector<int>{victim});
          expect_sum(group, own, all - static_cast<float>(victim + 1));
        });
      }
    }
  }
}

// The victim dies when all have the first bucket of the step and nobody has the second.
TEST_P(GroupMembership, ADeathBetweenTwoBucketsFailsTheSecondAlone) {
  constexpr int kRanks = 4, kVictim = 1;
  Ranks world(kRanks, GetParam());
  world.start();
  std::latch first_done(kRanks);
  world.run([&](int rank, Group& group) {
    const auto own = static_cast<float>(rank + 1);
    std::vector<float> first(5000, own), second(5000, 10 * own);
    const auto sum = [&](std::vector<float>& data, std::uint32_t stream) {
      CallOptions options;
      options.stream = stream;
      return group.all_reduce(data.data(), data.size(), kF32, ReduceOp::kSum, options);
    };
    ASSERT_TRUE(sum(first, 0)->wait().ok());
    for (const float x : first) ASSERT_EQ(x, 10);
    first_done.arrive_and_wait();
    if (rank == kVictim) {
      world.kill(kVictim);
      return;
    }
    const Status failed = sum(second, 1)->wait();
    ASSERT_FALSE(failed.ok());
    EXPECT_THAT(failed.error().what, HasSubstr("rank 1 "));
    // The step was not committed: both buckets again, among those that are left.
    ASSERT_TRUE(group.reform(2 * time_factor()).ok());
    first.assign(first.size(), own);
    second.assign(second.size(), 10 * own);
    const auto one = sum(first, 0), two = sum(second, 1);
    ASSERT_TRUE(two->wait().ok());
    ASSERT_TRUE(one->wait().ok());
    for (const float x : first) ASSERT_EQ(x, 8);
    for (const float x : second) ASSERT_EQ(x, 80);
  });
}

TEST_P(GroupMembership, ReformingIsQuickWhenAllAskForIt) {
  Ranks world(4, GetParam());
  world.start();
  world.run([&](int rank, Group& group) {
    for (std::uint32_t number = 1; number <= 5; ++number) {
      const double begin = steady_now();
      const auto membership = group.reform(2 * time_factor());
      ASSERT_TRUE(membership.ok()) << membership.error().what;
      EXPECT_EQ(membership->number, number);
      EXPECT_EQ(membership->size(), 4);
      EXPECT_LT(steady_now() - begin, 0.1 * time_factor());
      expect_sum(group, static_cast<float>(rank), 6);
    }
  });
}

TEST_P(GroupMembership, TwoDeathsOneDuringTheReforming) {
  Ranks world(4, GetParam());
  world.start();
  world.run([&](int rank, Group& group) {
    if (rank == 0) {
      world.kill(0);
      return;
    }
    EXPECT_NE(sum_until_error(group, 1, 4, 1000), "");
    if (rank == 1) {
      world.kill(1);  // the next coordinator, which the others wait for
      return;
    }
    int size = 4;
    for (int attempt = 0; attempt < 5 && size != 2; ++attempt) {
      const auto membership = group.reform(2 * time_factor());
      ASSERT_TRUE(membership.ok()) << membership.error().what;
      size = membership->size();
      if (size != 2) sum_until_error(group, 1, static_cast<float>(size), 10);
    }
    ASSERT_EQ(size, 2);
    expect_sum(group, static_cast<float>(rank), 5);
  });
}

TEST_P(GroupMembership, ARankThatLeavesIsNotTakenForDead) {
  Ranks world(3, GetParam());
  world.start();
  world.run([&](int rank, Group& group) {
    if (rank == 1) {
      group.leave();
      world.kill(1);
      return;
    }
    EXPECT_THAT(sum_until_error(group, 1, 3, 1000), HasSubstr("rank 1 (member 1) left"));
    const auto membership = group.reform(2 * time_factor());
    ASSERT_TRUE(membership.ok()) << membership.error().what;
    EXPECT_EQ(membership->members, (std::vector<std::uint32_t>{0, 2}));
    expect_sum(group, 1, 2);
  });
}

TEST_P(GroupMembership, ANewMemberIsTakenInWhenTheOthersReform) {
  Ranks world(2, GetParam());
  world.start();
  Ranks::each({0, 1, 2}, [&](int rank) {
    if (rank == 2) {
      GroupOptions options = world.options(2);
      options.join = true;
      const auto group = Group::start(options);
      ASSERT_TRUE(group.ok()) << group.error().what;
      EXPECT_EQ((*group)->rank(), 2);
      expect_sum(**group, 100, 103);
      (*group)->leave();
      return;
    }
    Group& group = *world.group(rank);
    while (group.joiners() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    const auto membership = group.reform(2 * time_factor());
    ASSERT_TRUE(membership.ok()) << membership.error().what;
    EXPECT_EQ(membership->members, (std::vector<std::uint32_t>{0, 1, 2}));
    EXPECT_EQ(group.joiners(), 0);
    expect_sum(group, static_cast<float>(rank + 1), 103);
  });
}

TEST_P(GroupMembership, NewMembersGetNumbersOfTheirOwnFromTheStore) {
  Ranks world(1, GetParam());
  world.start();
  Ranks::each({0, 1, 2}, [&](int rank) {
    if (rank > 0) {
      GroupOptions options = world.options(0);  // whatever it was told
      options.join = options.take_member = true;
      const auto group = Group::start(options);
      ASSERT_TRUE(group.ok()) << group.error().what;
      while ((*group)->size() < 3) {
        while ((*group)->joiners() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
        ASSERT_TRUE((*group)->reform(2 * time_factor()).ok());
      }
      expect_sum(**group, 100, 201);
      (*group)->leave();
      return;
    }
    Group& group = *world.group(0);
    while (group.size() < 3) {
      while (group.joiners() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
      ASSERT_TRUE(group.reform(2 * time_factor()).ok());
    }
    // In the order in which they came, which need not be that of their numbers.
    EXPECT_THAT(group.membership().members, testing::UnorderedElementsAre(0, 1, 2));
    expect_sum(group, 1, 201);
  });
}

TEST_P(GroupMembership, AReplacementTakesTheSeatOfTheDead) {
  Ranks world(3, GetParam());
  world.start();
  world.kill(0);
  Ranks::each({1, 2, 3}, [&](int rank) {
    if (rank == 3) {
      GroupOptions options = world.options(3);
      options.join = true;
      const auto group = Group::start(options);
      ASSERT_TRUE(group.ok()) << group.error().what;
      EXPECT_EQ((*group)->rank(), 0);
      expect_sum(**group, 3, 6);
      (*group)->leave();
      return;
    }
    Group& group = *world.group(rank);
    while (group.joiners() == 0 || group.broken().empty()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    const auto membership = group.reform(2 * time_factor());
    ASSERT_TRUE(membership.ok()) << membership.error().what;
    EXPECT_EQ(membership->members, (std::vector<std::uint32_t>{3, 1, 2}));
    EXPECT_EQ(membership->seats, (std::vector<int>{0, 1, 2}));
    expect_sum(group, static_cast<float>(rank), 6);
  });
}

TEST_P(GroupMembership, WhoDoesNotAskKeepsTheOthersWaitingOnlyUntilTheirDeadline) {
  Ranks world(3, GetParam());
  world.start();
  world.run([&](int rank, Group& group) {
    if (rank == 2) return;
    const auto membership = group.reform(0.1 * time_factor());
    ASSERT_FALSE(membership.ok());
    if (rank == 0) {
      EXPECT_THAT(membership.error().what, HasSubstr("rank 2 lives"));
    }
  });
}

// Those that have finished may go while others have not, and their connections end with them.
TEST_P(GroupMembership, WhoLeavesDisturbsNoOperationOfTheOthers) {
  constexpr int kRanks = 8;
  Ranks world(kRanks, GetParam());
  world.start();
  std::atomic<double> gone = 0;
  world.run([&](int rank, Group& group) {
    std::vector<int> others;
    for (int other = 0; other < kRanks - 1; ++other) others.push_back(other);
    std::vector<float> data(100, 1);  // all pairs exchange them, so all are connected
    ASSERT_TRUE(group.all_reduce_now(data.data(), data.size(), kF32, ReduceOp::kSum).ok());
    if (rank == kRanks - 1) {
      group.leave();
      world.kill(rank);
      gone = steady_now();
      return;
    }
    const auto rest = group.subgroup(others);
    ASSERT_TRUE(rest.ok()) << rest.error().what;
    bool on = true;
    while (on) {
      // Together, so that nobody waits for one that has seen enough.
      float more = gone == 0 || steady_now() - gone < 0.3 ? 1 : 0;
      const Status summed = (*rest)->all_reduce_now(&more, 1, kF32, ReduceOp::kMin);
      if (!summed.ok()) {
        // Only a machine that stood still for a second may come so far.
        EXPECT_THAT(summed.error().what, HasSubstr("left"));
        break;
      }
      on = more > 0;
    }
  });
}

TEST_P(GroupMembership, WhoIsInAnOperationHearsThatOthersReform) {
  Ranks world(4, GetParam());
  world.base.deadline_s = 60 * time_factor();
  world.start();
  std::atomic<double> asked = 0;
  world.run([&](int rank, Group& group) {
    if (rank == 2) {
      const std::string why = sum_until_error(group, 1, 4, 100);
      EXPECT_THAT(why, HasSubstr("asked for a new membership"));
      EXPECT_LT(steady_now() - asked, 0.2 * time_factor());
    } else {
      asked = steady_now();
    }
    const auto membership = group.reform(4 * time_factor());
    ASSERT_TRUE(membership.ok()) << membership.error().what;
    EXPECT_EQ(membership->size(), 4);
    expect_sum(group, 1, 4);
  });
}

TEST_P(GroupMembership, WhatEverybodyTookPartInEndsWellBeforeAReforming) {
  Ranks world(4, GetParam());
  world.start();
  world.run([&](int, Group& group) {
    for (int round = 0; round < 10; ++round) {
      std::vector<float> data(50'000, 1);
      const Status summed =
          group.all_reduce(data.data(), data.size(), kF32, ReduceOp::kSum)->wait();
      ASSERT_TRUE(summed.ok()) << summed.error().what;
      const auto membership = group.reform(4 * time_factor());
      ASSERT_TRUE(membership.ok()) << membership.error().what;
    }
  });
}

}  // namespace
}  // namespace weft::runtime
