#include "runtime/compress/compressed_reduce.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "base/random.h"
#include "runtime/compress/reduce_testing.h"
#include "runtime/group_testing.h"

namespace weft::runtime {
namespace {

constexpr std::size_t kSizes[] = {0, 1, 3, 1000, 4099};
constexpr std::uint64_t kReduceSteps = 3;

#define ASSERT_DONE(status)                        \
  do {                                             \
    const Status done_ = (status);                 \
    ASSERT_TRUE(done_.ok()) << done_.error().what; \
  } while (false)

// What one rank got and kept.
struct Outcome {
  std::vector<std::vector<float>> got;  // by bucket: the means of all steps, one after the other
  BucketStates states;
};

// All buckets at once, begun in an order that differs between ranks.
void train(CompressedReduce& reduce, int rank, std::uint64_t first, Outcome& outcome) {
  const std::size_t buckets = std::size(kSizes);
  outcome.got.resize(buckets);
  for (std::uint64_t step = first; step < first + kReduceSteps; ++step) {
    std::vector<std::vector<float>> data;
    for (const std::size_t size : kSizes) data.push_back(gradients(rank, step, size));
    std::vector<Group::WorkPtr> works;
    for (std::size_t k = 0; k < buckets; ++k) {
      const std::size_t b = (k + static_cast<std::size_t>(rank)) % buckets;
      works.push_back(reduce.average(static_cast<std::uint32_t>(b), data[b]));
    }
    for (const auto& work : works) ASSERT_DONE(work->wait());
    for (std::size_t b = 0; b < buckets; ++b) {
      outcome.got[b].insert(outcome.got[b].end(), data[b].begin(), data[b].end());
    }
  }
  outcome.states = reduce.states();
}

// For codecs with plain error feedback: what was given in all steps is what came out and what is
// still kept, value by value.
void expect_mass_kept(const std::vector<Outcome>& all, std::size_t b) {
  const std::size_t size = kSizes[b], ranks = all.size();
  std::vector<BucketState> states;
  bool compact = false;
  float most = 0;
  for (const Outcome& one : all) {
    states.push_back(one.states.at(static_cast<std::uint32_t>(b)));
    compact = states.back().sent.compact.has_value();
    states.back().sent = codec::widened(states.back().sent);
    if (states.back().back) states.back().back = codec::widened(*states.back().back);
    for (const float x : states.back().sent.local[0]) most = std::max(most, std::abs(x));
  }
  // A compact residual is rounded with every step, by less than 2^-7 of it, on both ways.
  const double within =
      1e-4 + (compact ? 2.0 * kReduceSteps * 0x1p-7 * static_cast<double>(most) : 0);
  for (std::size_t i = 0; i < size; ++i) {
    double given = 0, kept = 0, came = 0;
    for (std::size_t r = 0; r < ranks; ++r) {
      for (std::uint64_t step = 0; step < kReduceSteps; ++step) {
        given += gradient(static_cast<int>(r), step, i) / static_cast<double>(ranks);
      }
      const BucketState& state = states[r];
      kept += state.sent.local[0][i] / static_cast<double>(ranks);
      if (state.back && i >= state.first && i < state.first + state.back->size) {
        kept += state.back->local[0][i - state.first];
      }
    }
    for (std::uint64_t step = 0; step < kReduceSteps; ++step)
      came += all[0].got[b][step * size + i];
    ASSERT_NEAR(given, came + kept, within) << "value " << i << " of bucket " << b;
  }
}

class CompressedRanks : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, CompressedRanks, testing::Values(1, 2, 3, 4, 5));

TEST_P(CompressedRanks, EveryCodecGivesTheSameBitsEverywhereAndLosesNothing) {
  Ranks world(GetParam());
  world.start();
  for (const auto& codec : all_codecs()) {
    SCOPED_TRACE(codec->text());
    std::vector<Outcome> all(static_cast<std::size_t>(GetParam()));
    world.run([&](int rank, Group&) {
      CompressedReduce reduce(world.group(rank), codec);
      train(reduce, rank, 0, all[static_cast<std::size_t>(rank)]);
    });
    if (HasFatalFailure()) return;
    for (const Outcome& other : all) EXPECT_TRUE(other.got == all[0].got);
    if (codec->text() == "none") continue;
    for (std::size_t b = 0; b < std::size(kSizes); ++b) {
      const BucketState& state = all[0].states.at(static_cast<std::uint32_t>(b));
      EXPECT_EQ(state.sent.step, kReduceSteps);
      const bool plain = state.sent.keeps_residual() && state.sent.local.size() <= 1 &&
                         state.sent.shared.empty() && (!state.back || state.back->keeps_residual());
      if (plain) expect_mass_kept(all, b);
    }
  }
}

// Values that come of each of two buckets, of which the first has ten times larger gradients.
std::vector<std::size_t> values_sent(Ranks& world, const std::string& codec) {
  constexpr std::size_t kValues = 20'000;
  std::vector<std::size_t> sent;
  world.run([&](int rank, Group&) {
    CompressedReduce reduce(world.group(rank), codec_of(codec));
    Random random(static_cast<std::uint64_t>(rank));
    std::vector<std::vector<float>> data(2, std::vector<float>(kValues));
    for (int step = 0; step < 5; ++step) {
      for (std::size_t b = 0; b < 2; ++b) {
        for (float& x : data[b]) x = static_cast<float>((b == 0 ? 1 : 0.1) * random.normal());
      }
      const auto first = reduce.average(0, data[0]), second = reduce.average(1, data[1]);
      ASSERT_DONE(first->wait());
      ASSERT_DONE(second->wait());
    }
    if (rank > 0) return;
    for (const auto& bucket : data) {
      sent.push_back(kValues -
                     static_cast<std::size_t>(std::count(bucket.begin(), bucket.end(), 0)));
    }
  });
  return sent;
}

TEST_P(CompressedRanks, ABudgetGoesToTheBucketsWithTheLargestGradients) {
  Ranks world(GetParam());
  world.start();
  const auto apart = values_sent(world, "topk:rate=0.02,ef=0");
  const auto shared = values_sent(world, "budget:rate=0.02,ef=0");
  ASSERT_EQ(shared.size(), 2u);
  EXPECT_NEAR(static_cast<double>(apart[0]), static_cast<double>(apart[1]), 60);
  EXPECT_NEAR(static_cast<double>(shared[0]), 800, 80);
  EXPECT_LT(shared[1], 5u);
}

TEST_P(CompressedRanks, HalfPrecisionIsNearTheMeanAndNoneIsTheMean) {
  Ranks world(GetParam());
  world.start();
  for (const auto& [text, near] : {std::pair{"none", 1e-5}, std::pair{"fp16", 5e-3}}) {
    world.run([&, text = text, near = near](int rank, Group&) {
      CompressedReduce reduce(world.group(rank), codec_of(text));
      std::vector<float> data = gradients(rank, 0, 4099);
      ASSERT_DONE(reduce.average(0, data)->wait());
      for (std::size_t i = 0; i < data.size(); ++i) {
        double mean = 0;
        for (int r = 0; r < GetParam(); ++r) mean += gradient(r, 0, i) / GetParam();
        ASSERT_NEAR(data[i], mean, near) << text << " value " << i;
      }
    });
  }
}

TEST(CompressedReduce, WhatOneRankCannotSendIsTheSameErrorEverywhereAndTrainingGoesOn) {
  Ranks world(4);
  world.start();
  for (const std::shared_ptr<const codec::Codec>& codec :
       {codec_of("int8"), codec_of("fp16"),
        std::shared_ptr<const codec::Codec>(std::make_shared<WholeNumbers>())}) {
    std::vector<std::string> errors(4);
    world.run([&](int rank, Group&) {
      CompressedReduce reduce(world.group(rank), codec);
      std::vector<float> data = gradients(rank, 0, 1000);
      if (rank == 2) data[999] = std::numeric_limits<float>::quiet_NaN();
      if (rank == 3) data[3] = std::numeric_limits<float>::infinity();
      const Status status = reduce.average(0, data)->wait();
      ASSERT_FALSE(status.ok());
      errors[static_cast<std::size_t>(rank)] = status.error().what;
      data = gradients(rank, 1, 1000);
      ASSERT_DONE(reduce.average(1, data)->wait());
    });
    EXPECT_NE(errors[0].find("rank "), std::string::npos) << errors[0];
    for (const std::string& error : errors) EXPECT_EQ(error, errors[0]);
  }
}

TEST(CompressedReduce, WhatOneRankFindsBetweenRoundsIsToldToTheOthersAtOnce) {
  Ranks world(4);
  world.start();
  const auto codec = std::make_shared<WholeNumbers>();
  world.run([&](int rank, Group&) {
    CompressedReduce reduce(world.group(rank), codec);
    std::vector<float> data = gradients(rank, 0, 1000);
    if (rank == 1) data[5] = kStumble;
    const Status status = reduce.average(0, data)->wait();
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().what, "rank 1: a value to stumble over");
    data = gradients(rank, 1, 1000);
    ASSERT_DONE(reduce.average(1, data)->wait());
  });
}

TEST(CompressedReduce, ExactPlacesGoAroundTheCodecAndLeaveNothingBehind) {
  constexpr int kRanks = 3;
  constexpr std::size_t kSize = 4099;
  const std::vector<sync::Range> exact = {{0, 10}, {1400, 40}, {kSize - 1, 1}};
  Ranks world(kRanks);
  world.start();
  for (const char* text : {"efsign", "topk:rate=0.01", "onebit", "randomk"}) {
    SCOPED_TRACE(text);
    world.run([&](int rank, Group&) {
      CompressedReduce reduce(world.group(rank), codec_of(text));
      EXPECT_TRUE(reduce.coarse());
      for (std::uint64_t step = 0; step < kReduceSteps; ++step) {
        std::vector<float> data = gradients(rank, step, kSize);
        ASSERT_DONE(reduce.average(1, data, {}, {exact})->wait());
        for (const sync::Range& place : exact) {
          for (std::size_t i = place.from; i < place.from + place.size; ++i) {
            float mean = 0;
            for (int r = 0; r < kRanks; ++r) mean += gradient(r, step, i) / kRanks;
            ASSERT_NEAR(data[i], mean, 1e-5) << i;
          }
        }
      }
      const std::vector<float> held = reduce.take_residual(1);
      ASSERT_EQ(held.size(), kSize);
      for (const sync::Range& place : exact) {
        for (std::size_t i = place.from; i < place.from + place.size; ++i) ASSERT_EQ(held[i], 0);
      }
      std::vector<float> data(kSize);
      if (rank == 1) data[5] = std::numeric_limits<float>::quiet_NaN();
      ASSERT_FALSE(reduce.average(1, data, {}, {exact})->wait().ok()) << "an exact place, too";
    });
    if (HasFatalFailure()) return;
  }
  EXPECT_FALSE(CompressedReduce(world.group(0), codec_of("int4")).coarse());
  EXPECT_FALSE(CompressedReduce(world.group(0), codec_of("dgc")).coarse()) << "it has velocities";
}

TEST(CompressedReduce, ABucketThatChangesItsSizeIsAnError) {
  Ranks world(2);
  world.start();
  world.run([&](int rank, Group&) {
    CompressedReduce reduce(world.group(rank), codec_of("int8"));
    std::vector<float> data(100), longer(101);
    ASSERT_DONE(reduce.average(0, data)->wait());
    const Status status = reduce.average(0, longer)->wait();
    ASSERT_FALSE(status.ok());
    EXPECT_NE(status.error().what.find("101"), std::string::npos) << status.error().what;
  });
}

TEST(CompressedReduce, AfterADeathTheOthersGoOnWithWhatTheyRemember) {
  Ranks world(4);
  world.start();
  const auto codec = codec_of("int8");
  std::vector<std::unique_ptr<CompressedReduce>> reduces(4);
  std::vector<Outcome> before(4), after(4);
  world.run([&](int rank, Group&) {
    const auto r = static_cast<std::size_t>(rank);
    reduces[r] = std::make_unique<CompressedReduce>(world.group(rank), codec);
    train(*reduces[r], rank, 0, before[r]);
    reduces[r]->mark();
  });
  reduces[1].reset();
  world.kill(1);
  world.run([&](int rank, Group& group) {
    const auto r = static_cast<std::size_t>(rank);
    std::vector<float> data = gradients(rank, 9, 4099);
    EXPECT_FALSE(reduces[r]->average(4, data)->wait().ok());
    ASSERT_TRUE(group.reform(4 * time_factor()).ok());
    reduces[r]->go_back();  // the step that failed is taken again
    ASSERT_DONE(reduces[r]->regroup());
    after[r].states = reduces[r]->states();
    EXPECT_EQ(after[r].states.at(3).sent.place.ranks, 3U);
  });
  if (HasFatalFailure()) return;
  // What the three remember together is what they remembered before the failed step.
  for (std::size_t i = 0; i < kSizes[4]; ++i) {
    double then = 0, now = 0;
    for (const std::size_t r : {0U, 2U, 3U}) {
      then += before[r].states.at(4).sent.residual(i, 1).at(0);
      now += after[r].states.at(4).sent.residual(i, 1).at(0);
    }
    ASSERT_NEAR(then, now, 1e-6) << "value " << i;
  }
  world.run([&](int rank, Group& group) {
    const auto r = static_cast<std::size_t>(rank);
    train(*reduces[r], group.rank(), 10, after[r]);
  });
  EXPECT_TRUE(after[0].got == after[2].got);
  EXPECT_TRUE(after[0].got == after[3].got);
}

// All that was given comes out when one codec takes over from another: the last one sends all.
TEST(CompressedReduce, WhatACodecHeldBackGoesIntoTheNextOnesAverage) {
  constexpr int kRanks = 3;
  constexpr std::size_t kSize = 1000;
  Ranks world(kRanks);
  world.start();
  for (const char* text : {"int4", "onebit", "topk:rate=0.01", "powersgd:rank=1", "fp16"}) {
    SCOPED_TRACE(text);
    std::vector<std::vector<double>> came(kRanks, std::vector<double>(kSize));
    world.run([&](int rank, Group&) {
      CompressedReduce first(world.group(rank), codec_of(text));
      CompressedReduce plain(world.group(rank), codec_of("none"));
      for (std::uint64_t step = 0; step < kReduceSteps; ++step) {
        std::vector<float> data = gradients(rank, step, kSize);
        const bool last = step + 1 == kReduceSteps;
        if (last) {
          const std::vector<float> held = first.take_residual(7);
          ASSERT_EQ(held.empty(), std::string(text) == "fp16");
          for (std::size_t i = 0; i < held.size(); ++i) data[i] += held[i];
          ASSERT_TRUE(first.take_residual(7).empty());
        }
        ASSERT_DONE((last ? plain : first).average(7, data)->wait());
        for (std::size_t i = 0; i < kSize; ++i) {
          came[static_cast<std::size_t>(rank)][i] += static_cast<double>(data[i]);
        }
      }
    });
    for (std::size_t i = 0; i < kSize; ++i) {
      double given = 0;
      for (int rank = 0; rank < kRanks; ++rank) {
        for (std::uint64_t step = 0; step < kReduceSteps; ++step) {
          given += static_cast<double>(gradient(rank, step, i)) / kRanks;
        }
      }
      // Half precision forgets what it rounds off.
      ASSERT_NEAR(given, came[0][i], std::string(text) == "fp16" ? 0.02 : 1e-5) << "value " << i;
      ASSERT_EQ(came[0][i], came[2][i]);
    }
  }
}

}  // namespace
}  // namespace weft::runtime
