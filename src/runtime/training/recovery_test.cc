// What a Synchroniser goes on from: a saved state, exactly, and averages that ranks had to drop.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <limits>

#include "runtime/compress/reduce_testing.h"
#include "runtime/group_testing.h"
#include "runtime/training/pull_testing.h"
#include "runtime/training/synchroniser.h"

namespace weft::runtime {
namespace {

constexpr std::size_t kFew = 37;
using Vectors = std::vector<std::vector<float>>;  // by rank

std::unique_ptr<Synchroniser> synchroniser_of(Ranks& world, int rank, const std::string& mode,
                                              const std::string& codec, std::span<float> x) {
  auto sync = Synchroniser::make(world.group(rank),
                                 {sync::parse_mode(mode).value(), codec_of(codec), 1}, x);
  EXPECT_TRUE(sync.ok()) << sync.error().what;
  return std::move(*sync);
}

Status descend(Synchroniser& sync, std::span<float> x, int rank, double lr = kRate) {
  std::vector<float> gradient(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) gradient[i] = x[i] - centre(rank, i);
  if (Status status = sync.before_step(gradient, 1, lr); !status.ok()) return status;
  for (std::size_t i = 0; i < x.size(); ++i) x[i] -= static_cast<float>(lr) * gradient[i];
  return sync.after_step(1, lr);
}

// Under servers one rank after the other, so that shards are changed in an order that is always the
// same; `steps` of rank 1 where the others take one.
void take_turns(Synchroniser& sync, std::span<float> x, int rank, Group& group, int turns,
                int steps = 1) {
  const bool servers = sync.machine().mode().exchange == sync::Exchange::kServers;
  for (int turn = 0; turn < turns; ++turn) {
    for (int whose = 0; whose < (servers ? group.size() : 1); ++whose) {
      const bool mine = !servers || whose == rank;
      for (int k = 0; mine && k < (rank == 1 ? steps : 1); ++k) {
        ASSERT_DONE(descend(sync, x, rank));
      }
      ASSERT_DONE(group.barrier_now());
    }
  }
}

struct Resumed {
  const char* mode;
  const char* codec;
  int steps;  // of rank 1 in the first turns
};
class AsManyRanks : public testing::TestWithParam<Resumed> {};
INSTANTIATE_TEST_SUITE_P(
    Modes, AsManyRanks,
    testing::Values(Resumed{"asp", "none", 20}, Resumed{"asp", "int8", 3},
                    Resumed{"asp", "qsgd", 3}, Resumed{"asp:period=3", "topk:rate=0.2", 2},
                    Resumed{"ssp:bound=3", "none", 1}, Resumed{"ssp:bound=3", "int8", 1},
                    Resumed{"fedbuff:buffer=4,period=2", "none", 3},
                    Resumed{"fedbuff:buffer=5,period=1", "int8", 2},
                    Resumed{"local:period=3", "int8", 1}, Resumed{"diloco:period=3", "none", 1}));

TEST_P(AsManyRanks, GoOnExactlyWhereEachWas) {
  const auto [mode, codec, steps] = GetParam();
  constexpr int kRanks = 3;
  std::vector<std::string> saved(kRanks);
  Vectors middle(kRanks), ends(kRanks), finished(kRanks);
  {
    Ranks world(kRanks);
    world.start();
    world.run([&, mode = mode, codec = codec, steps = steps](int rank, Group& group) {
      const auto r = static_cast<std::size_t>(rank);
      std::vector<float> x(kFew);
      const auto sync = synchroniser_of(world, rank, mode, codec, x);
      take_turns(*sync, x, rank, group, 2, steps);
      saved[r] = sync->save();
      middle[r] = x;
      ASSERT_DONE(group.barrier_now());
      take_turns(*sync, x, rank, group, 5);
      ends[r] = x;
      ASSERT_DONE(sync->finish());
      finished[r] = x;
    });
    if (HasFatalFailure()) return;
  }
  Ranks world(kRanks);
  world.start();
  world.run([&, mode = mode, codec = codec](int rank, Group& group) {
    const auto r = static_cast<std::size_t>(rank);
    std::vector<float> x(kFew, 99.0F);
    const auto sync = synchroniser_of(world, rank, mode, codec, x);
    ASSERT_DONE(sync->restore(saved));
    EXPECT_TRUE(x == middle[r]);
    ASSERT_DONE(group.barrier_now());
    take_turns(*sync, x, rank, group, 5);
    EXPECT_TRUE(x == ends[r]);
    ASSERT_DONE(sync->finish());
    EXPECT_TRUE(x == finished[r]);
  });
}

// What an average under way has taken out of the feedback is there again when it is begun again:
// after steps that change nothing all ways have arrived, in the run that went on and in the other.
TEST(AverageUnderWay, IsSavedWithWhatTheCodecHeldBefore) {
  constexpr int kRanks = 2, kLastTurns = 120;
  for (const char* mode :
       {"local:period=2,overlap=1", "diloco:period=2,eager,outer_lr=1,outer_momentum=0"}) {
    for (const char* codec : {"topk:rate=0.2", "int4"}) {
      SCOPED_TRACE(fmt::format("{} with {}", mode, codec));
      std::vector<std::string> saved(kRanks);
      Vectors went_on(kRanks), restored(kRanks);
      Ranks world(kRanks);
      world.start();
      world.run([&](int rank, Group& group) {
        const auto r = static_cast<std::size_t>(rank);
        std::vector<float> x(kFew);
        const auto sync = synchroniser_of(world, rank, mode, codec, x);
        take_turns(*sync, x, rank, group, 4);
        saved[r] = sync->save();
        for (int turn = 0; turn < kLastTurns; ++turn) ASSERT_DONE(descend(*sync, x, rank, 0));
        went_on[r] = x;
        ASSERT_DONE(sync->finish());
        EXPECT_FALSE(descend(*sync, x, rank, 0).ok()) << "an average was given up";
      });
      if (HasFatalFailure()) return;
      world.run([&](int rank, Group&) {
        const auto r = static_cast<std::size_t>(rank);
        std::vector<float> x(kFew);
        const auto sync = synchroniser_of(world, rank, mode, codec, x);
        ASSERT_DONE(sync->restore(saved));
        for (int turn = 0; turn < kLastTurns; ++turn) ASSERT_DONE(descend(*sync, x, rank, 0));
        restored[r] = x;
      });
      if (HasFatalFailure()) return;
      for (std::size_t i = 0; i < kFew; ++i) {
        ASSERT_NEAR(went_on[0][i], restored[0][i], 1e-3) << "parameter " << i;
      }
    }
  }
}

// Under servers every rank begins from the shards, whoever had pushed last and however it is told.
TEST(AnotherNumberOfRanks, HasAllThatWasPushed) {
  for (const char* mode : {"asp", "ssp:bound=30", "fedbuff:buffer=2,period=1", "bsp:backup=1"}) {
    for (const char* codec : {"none", "int8"}) {
      std::vector<std::string> saved(3);
      std::vector<float> whole(kFew);
      Ranks before(3);
      before.start();
      before.run([&](int rank, Group& group) {
        std::vector<float> x(kFew);
        const auto sync = synchroniser_of(before, rank, mode, codec, x);
        // Rank 0 has seen nothing of what rank 1 does alone.
        ASSERT_DONE(descend(*sync, x, rank));
        ASSERT_DONE(sync->will_meet());
        ASSERT_DONE(group.barrier_now());
        for (int k = 0; std::string(mode) != "bsp:backup=1" && rank == 1 && k < 8; ++k) {
          ASSERT_DONE(descend(*sync, x, rank));
        }
        ASSERT_DONE(group.barrier_now());
        saved[static_cast<std::size_t>(rank)] = sync->save();
        ASSERT_DONE(group.barrier_now());
        ASSERT_DONE(sync->finish());
        if (rank == 0) whole = x;
      });
      for (const int after : {2, 5}) {
        SCOPED_TRACE(fmt::format("{} with {} on {} ranks", mode, codec, after));
        Ranks world(after);
        world.start();
        world.run([&](int rank, Group& group) {
          std::vector<float> x(kFew, 99.0F);
          const auto sync = synchroniser_of(world, rank, mode, codec, x);
          ASSERT_DONE(sync->restore(saved));
          EXPECT_TRUE(x == whole);
          ASSERT_DONE(descend(*sync, x, rank));
          ASSERT_DONE(sync->will_meet());
          ASSERT_DONE(group.barrier_now());
          ASSERT_DONE(sync->finish());
        });
      }
    }
  }
}

TEST(AnotherNumberOfRanks, HasWhatServersHadCollected) {
  const std::string mode = "fedbuff:buffer=4,period=1";
  const auto walk = [](Synchroniser& sync, std::span<float> x) {  // a way of 1
    if (Status status = sync.before_step({}, 0, 1); !status.ok()) return status;
    for (float& value : x) value -= 1;
    return sync.after_step(0, 1);
  };
  std::vector<std::string> saved(3);
  Ranks before(3);
  before.start();
  before.run([&](int rank, Group& group) {
    std::vector<float> x(kFew);
    const auto sync = synchroniser_of(before, rank, mode, "none", x);
    ASSERT_DONE(walk(*sync, x));
    ASSERT_DONE(group.barrier_now());
    saved[static_cast<std::size_t>(rank)] = sync->save();
    ASSERT_DONE(group.barrier_now());
    ASSERT_DONE(sync->finish());
    EXPECT_EQ(x[0], 0);
  });
  Ranks world(2);
  world.start();
  world.run([&](int rank, Group&) {
    std::vector<float> x(kFew);
    const auto sync = synchroniser_of(world, rank, mode, "none", x);
    ASSERT_DONE(sync->restore(saved));
    if (rank == 1) ASSERT_DONE(walk(*sync, x));
    ASSERT_DONE(sync->finish());
    for (const float value : x) EXPECT_EQ(value, -1);  // four ways of 1, a quarter each
  });
}

struct Drop {
  const char* mode;
  const char* codec;
  bool goes_on;
};
class Dropped : public testing::TestWithParam<Drop> {};
INSTANTIATE_TEST_SUITE_P(
    Modes, Dropped,
    testing::Values(Drop{"local:period=1", "int8", true}, Drop{"bsp", "int8", true},
                    Drop{"local:period=3", "topk:rate=0.3", true},
                    Drop{"post-local:warmup=8,period=2", "int8", true},
                    Drop{"diloco:period=4,fragments=2,overlap=1,mixing=0.3", "int8", true},
                    Drop{"fedavg:period=2", "powersgd:rank=1", true},
                    Drop{"diloco:period=2,eager,outer_momentum=0", "int8", false},
                    Drop{"asp", "int8", false}));

// One rank has a NaN; all hear of it, nobody ends, and who may go on does so with numbers.
TEST_P(Dropped, AverageIsAnErrorAndNotTheEnd) {
  const auto [mode, codec, goes_on] = GetParam();
  Ranks world(3);
  world.start();
  std::vector<int> errors(3);
  Vectors ends(3);
  world.run([&, mode = mode, codec = codec, goes_on = goes_on](int rank, Group&) {
    std::vector<float> x(kFew);
    const auto sync = synchroniser_of(world, rank, mode, codec, x);
    int& heard = errors[static_cast<std::size_t>(rank)];
    // Ranks that wait for nobody may be done with their steps before they hear of it.
    const auto waits_to_hear = [&](int step) { return !goes_on && heard == 0 && step < 100'000; };
    for (int step = 0; step < 24 || waits_to_hear(step); ++step) {
      if (step == 3 && rank == 1) x[7] = std::numeric_limits<float>::quiet_NaN();
      const Status status = descend(*sync, x, rank);
      if (status.ok()) continue;
      ++heard;
      EXPECT_FALSE(status.error().what.empty());
      // bsp and the warm-up leave parameters to their ranks.
      if (std::isnan(x[7])) x[7] = 0;
    }
    ends[static_cast<std::size_t>(rank)] = x;
    if (goes_on) ASSERT_DONE(sync->finish());
  });
  for (std::size_t rank = 0; rank < 3; ++rank) {
    EXPECT_GE(errors[rank], 1);
    if (!goes_on) continue;
    EXPECT_EQ(errors[rank], errors[0]) << "ranks hear of the same errors";
    EXPECT_LE(errors[rank], 4);
    for (const float value : ends[rank]) EXPECT_LT(std::abs(value), 3) << "no number, or far off";
  }
}

TEST(Scaffold, StepsWithARateOfZeroTeachNothing) {
  Ranks world(2);
  world.start();
  world.run([&](int rank, Group&) {
    std::vector<float> x(kFew);
    const auto sync = synchroniser_of(world, rank, "scaffold:period=2", "none", x);
    for (const double lr : {0.0, 0.0, 0.0, 0.1}) ASSERT_DONE(descend(*sync, x, rank, lr));
    for (int step = 0; step < 120; ++step) ASSERT_DONE(descend(*sync, x, rank));
    for (std::size_t i = 0; i < kFew; ++i) EXPECT_NEAR(x[i], centre(0, i) + 0.15, 1e-3);
    for (const double lr : {-1.0, std::nan("")}) {
      const Status status = descend(*sync, x, rank, lr);
      ASSERT_FALSE(status.ok());
      EXPECT_NE(status.error().what.find("learning rate"), std::string::npos);
    }
  });
}

// Bytes of another rank are its own: whatever they are, this one does not end.
TEST(ShardService, APushOfAnotherLengthIsAnError) {
  for (const std::uint64_t bytes : {std::uint64_t{0}, std::uint64_t{8}, std::uint64_t{1} << 40}) {
    Ranks world(2);
    world.start();
    const sync::Mode mode = sync::parse_mode("asp").value();
    world.run([&](int rank, Group& group) {
      if (rank == 1) {
        const std::uint64_t head[2] = {1, bytes};
        ASSERT_DONE(group.send(head, 2, DataType::kInt64, 0, 1)->wait());
        while (group.broken().empty()) std::this_thread::yield();
        return;
      }
      const std::vector<float> x(kFew);
      ShardService service(world.group(0), codec_of("none"), mode, kFew,
                           fresh_shard(mode, {{0}, {1}}, x, 0));
      while (group.broken().empty()) std::this_thread::yield();
      EXPECT_NE(group.broken().find("pushes"), std::string::npos) << group.broken();
    });
  }
}

}  // namespace
}  // namespace weft::runtime
