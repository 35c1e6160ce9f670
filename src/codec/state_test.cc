#include "codec/state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "codec/codecs.h"
#include "codec/ranks_testing.h"

namespace weft::codec {
namespace {

using testing::HasSubstr;

std::vector<CodecState> random_states(std::uint32_t ranks, std::size_t size) {
  const auto codec = must_make("dgc");
  Random random(ranks);
  std::vector<CodecState> states;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    states.push_back(codec->make_state(size, {rank, ranks, 7}));
    states.back().step = 12;
    states.back().shared.push_back({1, 2, 3});
    for (auto& vector : states.back().local) {
      for (float& x : vector) x = static_cast<float>(random.normal());
    }
  }
  return states;
}

TEST(State, IsRestoredAsItWasSaved) {
  for (const char* name : {"none", "int8", "dgc", "powersgd", "onebit-adam"}) {
    SCOPED_TRACE(name);
    CodecState state = must_make(name)->make_state(100, {2, 5, 99});
    state.step = 3;
    const auto restored = restore(save(state));
    ASSERT_TRUE(restored.ok()) << restored.error().text();
    EXPECT_TRUE(*restored == state);
  }
}

TEST(State, CutOrBrokenBytesAreRefused) {
  const std::vector<std::byte> whole = save(random_states(1, 9)[0]);
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
    EXPECT_FALSE(restore(std::span(whole).first(bytes)).ok()) << bytes;
  }
  std::vector<std::byte> longer = whole;
  longer.push_back(std::byte{0});
  EXPECT_THAT(restore(longer).error().what, HasSubstr("1 bytes follow"));
  std::vector<std::byte> newer = whole;
  newer[4] = std::byte{9};
  EXPECT_THAT(restore(newer).error().what, HasSubstr("version is 9"));
}

TEST(State, NumbersThatNoStepLeavesAreRefused) {
  struct Row {
    const char* why;
    void (*spoil)(CodecState&);
    const char* says;
  };
  for (const Row& row : std::vector<Row>{
           {"a residual that is no number", [](CodecState& s) { s.local[1][3] = NAN; },
            "value 3 of local vector 1 is nan"},
           {"an infinite shared one", [](CodecState& s) { s.shared[0][2] = -INFINITY; },
            "value 2 of shared vector 0 is -inf"},
           {"a rank that is none", [](CodecState& s) { s.place.rank = 5; }, "its rank is 5 of 1"},
           {"no ranks", [](CodecState& s) { s.place.ranks = 0; }, "its rank is 0 of 0"},
           {"more steps than there is time for", [](CodecState& s) { s.step = ~0ULL; },
            "its step is 18446744073709551615, at most 281474976710656"}}) {
    SCOPED_TRACE(row.why);
    CodecState state = random_states(1, 9)[0];
    row.spoil(state);
    const auto restored = restore(save(state));
    ASSERT_FALSE(restored.ok());
    EXPECT_THAT(restored.error().what, HasSubstr(row.says));
  }
}

// A state of which every vector is there, and nothing else, is the only one that is taken.
TEST(State, ACodecTakesOnlyWhatItKeeps) {
  const auto check_all = [](const Codec& codec) {
    SCOPED_TRACE(codec.text());
    const CodecState good = restore(save(codec.make_state(64, {1, 3, 7}))).value();
    EXPECT_TRUE(codec.check(good).ok());
    const auto refuses = [&](const CodecState& bad, const char* says) {
      const Status status = codec.check(bad);
      ASSERT_FALSE(status.ok()) << says;
      EXPECT_THAT(status.error().what, HasSubstr(says));
    };
    CodecState bad = good;
    bad.local.emplace_back(64, 0.0F);
    refuses(bad, "local vectors");
    for (std::size_t kept = 0; kept < good.local.size(); ++kept) {
      bad = good;
      bad.local.resize(kept);
      refuses(bad, "local vectors");
    }
    bad = good;
    bad.shared.resize(4);
    EXPECT_FALSE(codec.check(bad).ok());
    for (std::size_t v = 0; v < good.shared.size(); ++v) {
      bad = good;
      bad.shared.resize(v);
      refuses(bad, "shared vectors");
      bad = good;
      bad.shared[v].push_back(0);
      refuses(bad, "shared vector");
    }
    if (!good.local.empty() || !good.shared.empty()) {
      bad = good;
      bad.size = 63;
      EXPECT_FALSE(codec.check(bad).ok());
    }
    bad = good;
    bad.codec = "another";
    refuses(bad, "it is of codec 'another'");
  };
  for (const CodecHelp& help : codec_list()) {
    const auto codec = must_make(help.name);
    check_all(*codec);
    if (codec->opaque() != nullptr) check_all(codec->opaque()->back());
  }
}

TEST(State, WhatIsWrongWithAStateIsNamed) {
  struct Row {
    const char* codec;
    void (*spoil)(CodecState&);
    const char* says;
  };
  for (const Row& row : std::vector<Row>{
           {"randomk", [](CodecState& s) { s.local.clear(); },
            "it has 0 local vectors; 'randomk:rate=0.01' keeps 1"},
           {"int8", [](CodecState& s) { s.local[0].resize(5); },
            "local vector 0 has 5 values; the tensor has 4000"},
           {"onebit-adam", [](CodecState& s) { s.shared[1].resize(7); },
            "shared vector 1 has 7 values; for 4000 values"},
           {"onebit-adam", [](CodecState& s) { s.shared[1][5] = -1; },
            "the variance of value 5 is -1; it is at least 0"},
           {"powersgd:rank=2", [](CodecState& s) { s.shared[0].resize(7); },
            "shared vector 0 has 7 values; for 4000 values 'powersgd:rank=2' keeps 128"},
           {"powersgd:rank=2",
            [](CodecState& s) {
              s.shared.push_back({0, 40, 2.5F});
            },
            "number 2 of the matrices named in a state is 2.5; it must be a whole number"},
           {"powersgd:rank=2",
            [](CodecState& s) {
              s.shared.push_back({0, 4, 2});
            },
            "matrix 0 of a state is 4 x 2; it must be one that factors of rank 2 make smaller"},
           {"powersgd:rank=2",
            [](CodecState& s) {
              s.shared.push_back({1, 40, 100});
            },
            "matrix 0 of a state has 4000 values after 1; it must be at most the 4000"}}) {
    SCOPED_TRACE(row.says);
    const auto codec = must_make(row.codec);
    CodecState state = widened(codec->make_state(4000, {}));
    row.spoil(state);
    const Status status = codec->check(state);
    ASSERT_FALSE(status.ok());
    EXPECT_THAT(status.error().what, HasSubstr(row.says));
  }
}

// The square of such a gradient is no float; what Adam remembers of it can still be restored.
TEST(State, OneBitAdamStaysFinite) {
  const auto codec = must_make("onebit-adam:warmup=1");
  CodecState state = codec->make_state(2, {});
  for (int step = 0; step < 3; ++step) {
    std::vector<float> mean = {1e30F, -3e38F};
    codec->settle(mean, state);
    for (const float x : mean) EXPECT_TRUE(std::isfinite(x));
  }
  const auto restored = restore(save(state));
  ASSERT_TRUE(restored.ok()) << restored.error().what;
  EXPECT_TRUE(codec->check(*restored).ok());
}

TEST(State, ASumThatIsNoFloatIsRefused) {
  std::vector<CodecState> old = random_states(4, 10);
  for (CodecState& state : old) state.local[0][2] = 3e38F;
  EXPECT_THAT(spread(old, 1).error().what, HasSubstr("value 2 of local vector 0"));
  EXPECT_TRUE(spread(old, 4).ok());
}

TEST(State, SpreadKeepsTheSumOverRanks) {
  const std::size_t size = 1000;
  const std::vector<CodecState> old = random_states(4, size);
  for (const std::uint32_t ranks : {1U, 3U, 4U, 6U}) {
    SCOPED_TRACE(ranks);
    const auto spread_states = spread(old, ranks);
    ASSERT_TRUE(spread_states.ok());
    ASSERT_EQ(spread_states->size(), ranks);
    for (std::size_t v = 0; v < 2; ++v) {
      double mass = 0, error = 0;
      for (std::size_t i = 0; i < size; ++i) {
        double before = 0, after = 0;
        for (const CodecState& state : old) before += static_cast<double>(state.local[v][i]);
        for (const CodecState& state : *spread_states) {
          after += static_cast<double>(state.local[v][i]);
        }
        mass += std::abs(before);
        error += std::abs(after - before);
      }
      EXPECT_LT(error, 1e-6 * mass);
    }
    EXPECT_EQ(spread_states->back().place.rank, ranks - 1);
    EXPECT_EQ(spread_states->back().place.ranks, ranks);
    EXPECT_EQ(spread_states->back().shared, old[0].shared);
    EXPECT_EQ(spread_states->back().step, 12u);
  }
  std::vector<CodecState> unlike = old;
  unlike[2].step = 11;
  EXPECT_THAT(spread(unlike, 3).error().what, HasSubstr("rank 2"));
}

TEST(State, SlicesJoinToTheWhole) {
  const CodecState whole = random_states(1, 100)[0];
  const std::vector<CodecState> slices = {slice(whole, 0, 33), slice(whole, 33, 0),
                                          slice(whole, 33, 67)};
  const auto joined = join(slices);
  ASSERT_TRUE(joined.ok());
  EXPECT_TRUE(*joined == whole);
  std::vector<CodecState> unlike = slices;
  unlike[1].codec = "int8";
  EXPECT_FALSE(join(unlike).ok());
}

// Encodes `steps` times and gives the bytes of the last.
std::vector<std::byte> train(const Codec& codec, CodecState& state, int steps, std::uint64_t seed) {
  Random random(seed);
  std::vector<float> values(state.size);
  std::vector<std::byte> bytes(codec.opaque()->most_bytes(state.size));
  std::size_t used = 0;
  for (int step = 0; step < steps; ++step) {
    for (float& x : values) x = static_cast<float>(random.normal());
    used = codec.opaque()->encode(values, 0, state, bytes).value();
    codec.settle(values, state);
  }
  bytes.resize(used);
  return bytes;
}

TEST(State, GoesOnWithTheSameBitsAfterARestore) {
  for (const char* name :
       {"fp16:ef=1", "fp8", "int8", "int4", "qsgd:ef=1,round=random", "efsign", "topk",
        "topk:exact=1", "topk+int8", "budget", "dgc", "onebit-adam:warmup=1"}) {
    SCOPED_TRACE(name);
    const auto codec = must_make(name);
    CodecState state = codec->make_state(3000, {1, 2, 3});
    train(*codec, state, 5, 1);
    CodecState again = restore(save(state)).value();
    EXPECT_TRUE(again == state);
    EXPECT_EQ(train(*codec, again, 3, 2), train(*codec, state, 3, 2));
    EXPECT_TRUE(again == state);
    EXPECT_EQ(again.local.size(), state.local.size()) << "what was restored has been taken up";
    EXPECT_EQ(save(again), save(state));
  }
}

// What a compact residual could not hold is not lost when ranks come or go: the next step sends it.
TEST(State, ASpreadResidualIsTakenUpInFull) {
  for (const char* name : {"fp16:ef=1", "int8", "natural:ef=1"}) {
    SCOPED_TRACE(name);
    const auto codec = must_make(name);
    std::vector<CodecState> old;
    for (std::uint32_t rank = 0; rank < 4; ++rank) {
      old.push_back(codec->make_state(2000, {rank, 4, 3}));
      train(*codec, old.back(), 3, rank);
    }
    const auto now = spread(old, 3).value();
    for (std::size_t i = 0; i < 2000; ++i) {
      double before = 0, after = 0;
      for (CodecState& state : old) before += static_cast<double>(state.residual(i, 1).at(0));
      for (CodecState state : {now[0], now[1], now[2]}) {
        after += static_cast<double>(state.local[0][i]);
      }
      ASSERT_NEAR(before, after, 1e-6 * std::abs(before)) << i;
    }
    // In two parts, of which the first must not disturb what is carried for the second.
    CodecState state = now[0];
    std::vector<float> none(1000), first(1000), second(1000);
    std::vector<std::byte> bytes(codec->opaque()->most_bytes(1000));
    const auto send = [&](std::size_t at, std::vector<float>& out) {
      const auto used = codec->opaque()->encode(none, at, state, bytes);
      ASSERT_TRUE(codec->opaque()->decode(std::span(bytes).first(*used), out).ok());
    };
    send(0, first);
    EXPECT_EQ(state.local.size(), 1U);
    send(1000, second);
    EXPECT_TRUE(state.local.empty());
    for (std::size_t i = 0; i < 2000; ++i) {
      const float sent = i < 1000 ? first[i] : second[i - 1000], all = now[0].local[0][i];
      const float left = state.residual(i, 1).at(0), exact = all - sent;
      ASSERT_NEAR(left, exact, 0x1p-7 * std::abs(exact)) << i;
    }
  }
}

}  // namespace
}  // namespace weft::codec
