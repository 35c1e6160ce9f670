// Backup workers on live ranks: the first steps make an update, whoever is late is not waited for.
#include <fmt/core.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <thread>

#include "runtime/compress/reduce_testing.h"
#include "runtime/group_testing.h"
#include "runtime/training/pull_testing.h"
#include "runtime/training/synchroniser.h"

namespace weft::runtime {
namespace {

Result<std::unique_ptr<Synchroniser>> made(Ranks& world, int rank, const std::string& mode,
                                           const std::string& codec, std::span<float> x,
                                           double weight = 1) {
  SyncOptions options{sync::parse_mode(mode).value(), codec_of(codec), 1};
  options.weight = weight;
  return Synchroniser::make(world.group(rank), options, x);
}

// Plain gradient descent towards this rank's centre; `compute` is called before the step ends.
Status take_step(
    Synchroniser& sync, std::span<float> x, int rank,
    const std::function<void()>& compute = [] {}) {
  std::vector<float> gradient(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) gradient[i] = x[i] - centre(rank, i);
  compute();
  if (Status status = sync.before_step({}, 0, kRate); !status.ok()) return status;
  for (std::size_t i = 0; i < x.size(); ++i) x[i] -= kRate * gradient[i];
  return sync.after_step(0, kRate);
}

void wait_briefly_until(const std::function<bool()>& condition) {
  const auto limit =
      std::chrono::steady_clock::now() + std::chrono::duration<double>(4 * time_factor());
  while (!condition() && std::chrono::steady_clock::now() < limit) std::this_thread::yield();
}

struct Slowness {
  const char* codec;
  int slow;           // which of four ranks
  std::uint64_t lag;  // its step ends when the others have made so many more updates
  double near;        // how near all come to where the others alone would
};
const Slowness kSlowness[] = {
    {"none", 1, 1, 1e-5},     // a step late, every time
    {"none", 1, 4, 1e-5},     // four times as slow
    {"none", 1, 1000, 1e-5},  // at its first step until the others have ended
    {"none", 0, 4, 1e-5},     // the rank that holds the ballot
    {"int8", 1, 4, 1e-2},    {"int8", 0, 1000, 1e-2}, {"topk:rate=0.2", 1, 4, 0.1},
};

// The slow rank cannot end its step before the others have gone on: if they waited for it, nobody
// would come to the end. Its steps are never in an update, and what they are in is what one process
// makes of the others' gradients, weighed.
TEST(BackupWorkers, TheSlowRankIsNeitherWaitedForNorCounted) {
  constexpr std::uint64_t kUpdates = 80;
  const double weights[] = {1, 2, 5, 2};
  Ranks world(4);
  world.start();
  for (const Slowness& c : kSlowness) {
    SCOPED_TRACE(fmt::format("{}, rank {} lags {}", c.codec, c.slow, c.lag));
    std::vector<float> want(kParameters, 0.5F);
    double total = 0;
    for (int rank = 0; rank < 4; ++rank) total += rank == c.slow ? 0 : weights[rank];
    for (std::uint64_t step = 0; step < kUpdates; ++step) {
      for (std::size_t i = 0; i < kParameters; ++i) {
        double mean = 0;
        for (int rank = 0; rank < 4; ++rank) {
          if (rank != c.slow) mean += weights[rank] / total * (want[i] - centre(rank, i));
        }
        want[i] -= static_cast<float>(kRate * mean);
      }
    }
    std::atomic<std::uint64_t> updates{0};
    std::vector<std::vector<float>> all(4);
    world.run([&](int rank, Group&) {
      auto& x = all[static_cast<std::size_t>(rank)];
      x.assign(kParameters, rank == 0 ? 0.5F : 9.0F);
      auto sync = made(world, rank, "bsp:backup=1", c.codec, x, weights[rank]);
      ASSERT_TRUE(sync.ok()) << sync.error().what;
      const sync::Machine& machine = (*sync)->machine();
      while (machine.step() < kUpdates) {
        const std::uint64_t until = std::min(kUpdates, machine.step() + c.lag);
        ASSERT_DONE(take_step(**sync, x, rank, [&] {
          if (rank == c.slow) wait_briefly_until([&] { return updates >= until; });
        }));
        if (rank != c.slow) {
          std::uint64_t seen = updates;
          while (seen < machine.step() && !updates.compare_exchange_weak(seen, machine.step())) {
          }
        }
      }
      EXPECT_EQ(machine.step(), kUpdates) << "all end with the same update";
      ASSERT_DONE((*sync)->finish());
      EXPECT_GE((*sync)->widest(), std::min(c.lag, kUpdates));
    });
    if (HasFatalFailure()) return;
    for (const auto& x : all) {
      EXPECT_TRUE(x == all[0]);
      double worst = 0;
      for (std::size_t i = 0; i < kParameters; ++i) {
        worst = std::max<double>(worst, std::abs(x[i] - want[i]));
      }
      EXPECT_LE(worst, c.near);
    }
  }
}

// Ranks at their own pace, some of which end long before others: whatever is chosen, all ranks come
// out with the same parameters, near the common optimum.
TEST(BackupWorkers, RanksThatEndEarlyHoldNobodyUp) {
  for (const Medium way : ways()) {
    Ranks world(5, way);
    world.start();
    for (const char* codec : {"none", "int8"}) {
      for (const char* mode : {"bsp:backup=1", "bsp:backup=2", "bsp:backup=4"}) {
        SCOPED_TRACE(fmt::format("{} {} {}", name_of(way), mode, codec));
        std::vector<std::vector<float>> all(5);
        world.run([&](int rank, Group&) {
          auto& x = all[static_cast<std::size_t>(rank)];
          x.assign(kParameters, 0.5F);
          auto sync = made(world, rank, mode, codec, x);
          ASSERT_TRUE(sync.ok()) << sync.error().what;
          for (int step = 0; step < 40 * (1 + rank % 3); ++step) {
            ASSERT_DONE(take_step(**sync, x, rank));
          }
          ASSERT_DONE((*sync)->finish());
        });
        if (HasFatalFailure()) return;
        for (const auto& x : all) EXPECT_TRUE(x == all[0]);
        for (std::size_t i = 0; i < kParameters; ++i) {
          ASSERT_GT(all[0][i], centre(0, i) - 0.1F);
          ASSERT_LT(all[0][i], centre(4, i) + 0.1F);
        }
      }
    }
  }
}

// Between two checkpoints ranks take equally many steps of their own, but not as many updates.
TEST(BackupWorkers, RanksMeetBetweenStepsWhateverTheirClocks) {
  Ranks world(4);
  world.start();
  world.run([&](int rank, Group& group) {
    std::vector<float> x(kParameters, 0.5F);
    auto sync = made(world, rank, "bsp:backup=1", "none", x);
    ASSERT_TRUE(sync.ok()) << sync.error().what;
    for (int meeting = 0; meeting < 40; ++meeting) {
      for (int step = 0; step < 5; ++step) ASSERT_DONE(take_step(**sync, x, rank));
      ASSERT_DONE((*sync)->will_meet());
      ASSERT_DONE(group.barrier_now());
    }
    EXPECT_GE((*sync)->machine().step(), 40U);
    ASSERT_DONE((*sync)->finish());
  });
}

TEST(BackupWorkers, WhatALateStepEncodedIsHeldBackAgain) {
  Ranks world(2);
  world.start();
  world.run([&](int rank, Group& group) {
    const auto codec = codec_of("topk:rate=0.1");
    const sync::Mode mode = sync::parse_mode("bsp:backup=1").value();
    std::vector<float> x(kParameters, 1.0F), agreed = x;
    sync::Replica<float> replica(mode, kParameters);
    replica.agree(x);
    auto points = group.subgroup({0, 1});
    ASSERT_TRUE(points.ok());
    ShardService shards(std::move(*points), codec, mode, x.size(),
                        fresh_shard(mode, {{0}, {1}}, x, static_cast<std::size_t>(rank)));
    sync::Action action;
    action.weight = 1;
    const auto exchange = [&](std::uint64_t clock) {
      action.step = clock;
      for (std::size_t i = 0; i < kParameters; ++i) x[i] -= gradient(rank, clock, i);
      const auto reached = shards.exchange(action, replica, agreed, x);
      EXPECT_TRUE(reached.ok()) << reached.error().what;
      replica.agree(x);
      return reached.ok() ? *reached : 0;
    };
    const auto before = codec::widened(shards.pushed()).local;
    if (rank == 0) {
      for (const std::uint64_t clock : {1, 2, 3}) EXPECT_EQ(exchange(clock), clock);
    }
    ASSERT_DONE(group.barrier_now());
    if (rank == 1) {
      EXPECT_EQ(exchange(1), 3U) << "the newest update";
      EXPECT_EQ(codec::widened(shards.pushed()).local, before) << "as if it had never been";
      EXPECT_EQ(exchange(4), 4U);
    }
    EXPECT_NE(codec::widened(shards.pushed()).local, before) << "a step that counts";
    ASSERT_DONE(shards.finish(x));
  });
}

TEST(BackupWorkers, ADeathIsAnErrorOnTheOthers) {
  Ranks world(3);
  world.start();
  std::vector<int> failed(3);
  world.run([&](int rank, Group& group) {
    std::vector<float> x(kParameters);
    auto sync = made(world, rank, "bsp:backup=1", "none", x);
    ASSERT_TRUE(sync.ok());
    for (int step = 0; step < 100'000 && failed[static_cast<std::size_t>(rank)] == 0; ++step) {
      if (rank == 2 && step == 5) return group.abandon("rank 2 is gone");
      failed[static_cast<std::size_t>(rank)] = !take_step(**sync, x, rank).ok();
    }
  });
  EXPECT_EQ(failed, (std::vector<int>{1, 1, 0}));
}

TEST(BackupWorkers, AtLeastOneStepMustCount) {
  Ranks world(2);
  world.start();
  world.run([&](int rank, Group&) {
    std::vector<float> x(kParameters);
    const auto refused = made(world, rank, "bsp:backup=2", "none", x);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().what, "backup is 2; with 2 ranks it must be at most 1");
  });
}

}  // namespace
}  // namespace weft::runtime
