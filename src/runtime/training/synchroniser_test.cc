#include "runtime/training/synchroniser.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/compress/reduce_testing.h"
#include "runtime/group_testing.h"
#include "runtime/training/pull_testing.h"

namespace weft::runtime {
namespace {

constexpr int kSyncSteps = 60;

// The mean of the centres, towards which the ranks pull together.
float optimum(int ranks, std::size_t i) {
  return static_cast<float>(std::sin(static_cast<double>(i)) + 0.15 * (ranks - 1));
}

SyncOptions options_of(const std::string& mode, const std::string& codec) {
  return {sync::parse_mode(mode).value(), codec_of(codec), 1};
}

// Plain gradient descent on this rank's own objective. With `pace` no rank runs ahead of the
// others.
Status take_steps(Synchroniser& sync, std::span<float> x, int rank, int steps,
                  Group* pace = nullptr) {
  std::vector<float> gradient(x.size());
  for (int step = 0; step < steps; ++step) {
    double loss = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      gradient[i] = x[i] - centre(rank, i);
      loss += 0.5 * gradient[i] * gradient[i];
    }
    if (Status status = sync.before_step(gradient, loss, kRate); !status.ok()) return status;
    for (std::size_t i = 0; i < x.size(); ++i) x[i] -= kRate * gradient[i];
    if (Status status = sync.after_step(loss, kRate); !status.ok()) return status;
    if (pace == nullptr) continue;
    if (Status status = pace->barrier_now(); !status.ok()) return status;
  }
  return {};
}

struct SyncCase {
  const char* mode;
  const char* codec;
  // How near every rank must come to the optimum. Without communication it would be 0.45; what a
  // rank drifts after its last average is in it.
  double near;
  bool equal;  // all ranks end with the same bits
  bool paced =
      false;  // else who nobody waits for may be all steps ahead, and pulls back at the end
};
const SyncCase kSyncCases[] = {
    {"bsp", "none", 1e-3, true},
    {"bsp", "int8", 1e-2, true},
    {"local:period=4", "none", 1e-3, true},
    {"local:period=4", "int8", 1e-2, true},
    {"local:period=4", "int4", 5e-2, true},
    {"local:adaptive", "none", 1e-3, true},
    {"local:period=8,overlap=3", "none", 0.2, false},
    {"post-local:warmup=20,period=5", "int8", 1e-2, true},
    {"hierarchical:inner=2,outer=4,group=2", "none", 1e-3, true},
    {"diloco:period=5", "none", 0.1, true},
    {"diloco:period=5", "int4", 0.1, true},
    {"diloco:period=5,eager,outer_momentum=0.5", "none", 0.3, false},
    {"diloco:period=4,eager,fragments=2,outer_momentum=0.5", "int8", 0.3, false},
    {"diloco:period=4,fragments=4,overlap=1,mixing=0.2,outer_momentum=0.3", "int8", 0.3, false},
    {"gossip", "none", 0.2, false},
    {"gossip:graph=exponential", "none", 0.2, false},
    {"lazy:threshold=0.0001,check=2", "none", 0.1, false},
    {"slowmo:period=5,outer_momentum=0.3", "none", 1e-2, true},
    {"fedprox:period=4", "none", 1e-2, true},
    {"fednova:period=4", "int8", 1e-2, true},
    {"scaffold:period=4", "none", 1e-2, true},
    {"fedadam:period=4,outer_lr=0.05", "none", 0.3, true},
    {"fedavg:period=4", "bf16", 5e-2, true},
    {"ssp:bound=2", "none", 0.1, true},
    {"ssp:bound=2", "int8", 0.1, true},
    {"asp", "none", 0.3, true},
    {"asp", "int8", 0.3, true},
    {"asp", "int8", 2e-2, true, true},
    {"bsp:backup=1", "none", 0.2, true},
    {"bsp:backup=1", "int8", 0.2, true},
    {"fedbuff:buffer=4,period=2", "none", 8e-2, true, true},
    {"fedbuff:buffer=4,period=2", "int8", 8e-2, true, true},
    {"fedavg:period=4,participation=0.5", "none", 0.25, true},
};

TEST(Synchroniser, EveryModeBringsRanksToTheCommonOptimum) {
  Ranks world(4);
  world.start();
  for (const SyncCase& c : kSyncCases) {
    SCOPED_TRACE(fmt::format("{} with {}", c.mode, c.codec));
    std::vector<std::vector<float>> all(4);
    world.run([&](int rank, Group& group) {
      auto& x = all[static_cast<std::size_t>(rank)];
      x.assign(kParameters, static_cast<float>(rank));  // rank 0's count
      auto sync = Synchroniser::make(world.group(rank), options_of(c.mode, c.codec), x);
      ASSERT_TRUE(sync.ok()) << sync.error().what;
      ASSERT_DONE(take_steps(**sync, x, rank, kSyncSteps, c.paced ? &group : nullptr));
      ASSERT_DONE((*sync)->finish());
    });
    if (HasFatalFailure()) return;
    for (const auto& x : all) {
      if (c.equal) {
        EXPECT_TRUE(x == all[0]);
      }
      double worst = 0;
      for (std::size_t i = 0; i < kParameters; ++i) {
        worst = std::max<double>(worst, std::abs(x[i] - optimum(4, i)));
      }
      EXPECT_LE(worst, c.near);
    }
  }
}

// After one round every rank is where the mean of all ways leads, whatever the codec held back.
TEST(Synchroniser, LeavingAModeGivesBackWhatTheCodecHeld) {
  Ranks world(3);
  world.start();
  const struct {
    const char* codec;
    double near;  // residuals are kept in 16 bits
  } rows[] = {{"none", 1e-6}, {"int8", 1e-5}, {"int4", 2e-4}, {"topk:rate=0.1", 2e-3}};
  for (const auto& [codec, near] : rows) {
    SCOPED_TRACE(codec);
    std::vector<std::vector<float>> all(3);
    world.run([&](int rank, Group&) {
      auto& x = all[static_cast<std::size_t>(rank)];
      x.assign(kParameters, 0.0F);
      auto sync = Synchroniser::make(world.group(rank), options_of("local:period=2", codec), x);
      ASSERT_TRUE(sync.ok()) << sync.error().what;
      ASSERT_DONE(take_steps(**sync, x, rank, 1));
      EXPECT_FALSE((*sync)->leave().ok()) << "between two averages";
      ASSERT_DONE(take_steps(**sync, x, rank, 1));
      ASSERT_DONE((*sync)->leave());
      EXPECT_FALSE(take_steps(**sync, x, rank, 1).ok());
    });
    if (HasFatalFailure()) return;
    const float way = 1 - (1 - kRate) * (1 - kRate);
    for (const auto& x : all) {
      EXPECT_TRUE(x == all[0]);
      for (std::size_t i = 0; i < kParameters; ++i) {
        ASSERT_NEAR(x[i], way * optimum(3, i), near) << i;
      }
    }
  }
  world.run([&](int rank, Group&) {
    std::vector<float> x(kParameters);
    auto sync = Synchroniser::make(world.group(rank), options_of("diloco:period=1", "none"), x);
    ASSERT_TRUE(sync.ok()) << sync.error().what;
    EXPECT_FALSE((*sync)->leave().ok());
  });
}

TEST(Synchroniser, WhatDoesNotGoTogetherIsRefusedWithASentence) {
  Ranks world(1);
  world.start();
  std::vector<float> x(10);
  const auto refused = [&](const char* mode, std::shared_ptr<const codec::Codec> codec) {
    const auto made = Synchroniser::make(world.group(0),
                                         {sync::parse_mode(mode).value(), std::move(codec), 1}, x);
    return made.ok() ? std::string() : made.error().what;
  };
  EXPECT_NE(refused("gossip", codec_of("int8")).find("gossip"), std::string::npos);
  EXPECT_NE(refused("scaffold", codec_of("int8")).find("scaffold"), std::string::npos);
  for (const char* mode : {"asp", "bsp:backup=1"}) {
    EXPECT_NE(refused(mode, std::make_shared<WholeNumbers>()).find("whole-numbers"),
              std::string::npos);
  }
  // What is exchanged is a way of parameters: it has been through an optimizer, and has a size.
  for (const char* mode : {"local", "post-local", "diloco", "hierarchical", "lazy", "fedavg",
                           "fedprox", "ssp", "asp", "fedbuff", "bsp:backup=1"}) {
    for (const char* codec : {"dgc", "onebit-adam", "sign"}) {
      const std::string why = refused(mode, codec_of(codec));
      EXPECT_NE(why.find(codec), std::string::npos) << mode << " with " << codec << ": " << why;
      EXPECT_NE(why.find(mode), std::string::npos) << mode << " with " << codec << ": " << why;
    }
    EXPECT_TRUE(Synchroniser::check(sync::parse_mode(mode).value(), *codec_of("topk")).ok());
  }
  for (const char* codec : {"dgc", "onebit-adam", "sign"}) {
    EXPECT_EQ(refused("bsp", codec_of(codec)), "") << codec;
  }
}

TEST(Synchroniser, AGradientThatIsNoNumberIsAnErrorOnEveryRank) {
  for (const auto& [mode, codec] : {std::pair{"bsp", "int8"}, std::pair{"local:period=2", "int8"},
                                    std::pair{"asp", "int8"}, std::pair{"bsp:backup=1", "int8"}}) {
    Ranks world(3);
    world.start();
    std::vector<int> failed(3);
    world.run([&, mode = mode, codec = codec](int rank, Group& group) {
      std::vector<float> x(kParameters);
      auto sync = Synchroniser::make(world.group(rank), options_of(mode, codec), x);
      ASSERT_TRUE(sync.ok());
      ASSERT_DONE(take_steps(**sync, x, rank, 2));
      ASSERT_DONE((*sync)->will_meet());
      ASSERT_DONE(group.barrier_now());  // under asp nobody waits for the others' good steps
      if (rank == 1) x[7] = std::numeric_limits<float>::quiet_NaN();
      // Where nobody waits for the bad step the others' good ones go on until it has come.
      failed[static_cast<std::size_t>(rank)] = !take_steps(**sync, x, rank, 20'000).ok();
    });
    EXPECT_EQ(failed, (std::vector<int>{1, 1, 1})) << mode;
  }
}

// With weights the ranks come to the weighted mean of their centres; FedAvg with unequal steps to
// that of weight × (1 - (1 - rate)^steps), FedNova nearer to the weighted one.
TEST(Synchroniser, RanksHaveTheirOwnWeightsAndSteps) {
  Ranks world(3);
  world.start();
  const double weights[] = {1, 2, 5};
  const std::uint32_t steps[] = {1, 2, 6};
  double want = 0, pulled = 0, pulls = 0;
  for (int r = 0; r < 3; ++r) {
    want += 0.3 * r * weights[r] / 8;
    const double pull = weights[r] * (1 - std::pow(1 - kRate, steps[r]));
    pulled += 0.3 * r * pull;
    pulls += pull;
  }
  struct Row {
    const char* mode;
    bool own_steps;
    double offset, near;
  };
  for (const Row& row :
       {Row{"bsp", false, want, 1e-3}, Row{"local:period=4", false, want, 1e-3},
        Row{"fedavg", true, pulled / pulls, 1e-3}, Row{"fednova", true, want, 0.04}}) {
    SCOPED_TRACE(row.mode);
    world.run([&](int rank, Group&) {
      std::vector<float> x(kParameters);
      SyncOptions options = options_of(row.mode, "none");
      options.weight = weights[rank];
      if (row.own_steps) options.steps = steps[rank];
      auto sync = Synchroniser::make(world.group(rank), options, x);
      ASSERT_TRUE(sync.ok()) << sync.error().what;
      const int own = row.own_steps ? static_cast<int>(steps[rank]) : 4;
      ASSERT_DONE(take_steps(**sync, x, rank, own * 40));
      ASSERT_DONE((*sync)->finish());
      for (std::size_t i = 0; i < kParameters; ++i) {
        ASSERT_NEAR(x[i], centre(0, i) + row.offset, row.near);
      }
    });
    if (HasFatalFailure()) return;
  }
}

struct Restart {
  const char* mode;
  const char* codec;
  int after;  // ranks; there were 4
};
class Restored : public testing::TestWithParam<Restart> {};
INSTANTIATE_TEST_SUITE_P(
    Modes, Restored,
    testing::Values(Restart{"bsp", "int8", 3}, Restart{"local:period=4", "int8", 6},
                    Restart{"diloco:period=4", "none", 3},
                    Restart{"diloco:period=4,eager,outer_momentum=0", "none", 3},
                    Restart{"scaffold:period=4", "none", 6}, Restart{"ssp:bound=2", "int8", 3},
                    Restart{"asp", "none", 4}, Restart{"bsp:backup=1", "none", 6},
                    Restart{"bsp:backup=1", "int8", 3}));

TEST_P(Restored, GoesOnWithAnotherNumberOfRanks) {
  const auto [mode, codec, after] = GetParam();
  std::vector<std::string> saved(4);
  {
    Ranks world(4);
    world.start();
    world.run([&, mode = mode, codec = codec](int rank, Group& group) {
      std::vector<float> x(kParameters);
      auto sync = Synchroniser::make(world.group(rank), options_of(mode, codec), x);
      ASSERT_TRUE(sync.ok());
      ASSERT_DONE(take_steps(**sync, x, rank, 16));
      ASSERT_DONE((*sync)->will_meet());
      ASSERT_DONE(group.barrier_now());
      saved[static_cast<std::size_t>(rank)] = (*sync)->save();
      ASSERT_DONE((*sync)->finish());
    });
    if (HasFatalFailure()) return;
  }
  Ranks world(after);
  world.start();
  world.run([&, mode = mode, codec = codec, after = after](int rank, Group&) {
    std::vector<float> x(kParameters, 99.0F);
    auto sync = Synchroniser::make(world.group(rank), options_of(mode, codec), x);
    ASSERT_TRUE(sync.ok());
    EXPECT_FALSE((*sync)->restore({saved[0].substr(0, 100)}).ok());
    ASSERT_DONE((*sync)->restore(saved));
    EXPECT_LT(std::abs(x[5] - optimum(4, 5)), 1.0F);  // not where it would begin
    EXPECT_GE((*sync)->machine().step(), 1U);
    ASSERT_DONE(take_steps(**sync, x, rank, kSyncSteps));
    ASSERT_DONE((*sync)->finish());
    double worst = 0;
    for (std::size_t i = 0; i < kParameters; ++i) {
      worst = std::max<double>(worst, std::abs(x[i] - optimum(after, i)));
    }
    const bool apart = std::string(mode) == "asp" ||
                       std::string(mode).find("eager") != std::string::npos ||
                       std::string(mode).find("backup") != std::string::npos;
    EXPECT_LE(worst, apart ? 0.3 : 0.1);
  });
}

}  // namespace
}  // namespace weft::runtime
