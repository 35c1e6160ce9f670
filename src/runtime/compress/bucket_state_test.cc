#include "runtime/compress/bucket_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "runtime/compress/reduce_testing.h"
#include "sync/replica.h"

namespace weft::runtime {
namespace {

constexpr std::size_t kBucketSize = 1003;

// States of `ranks` ranks with numbers in every vector.
std::vector<BucketStates> filled_states(const codec::Codec& codec, std::uint32_t ranks) {
  std::vector<BucketStates> all;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    BucketStates one;
    for (const std::uint32_t bucket : {0U, 7U}) {
      BucketState state = make_bucket_state(codec, kBucketSize + bucket, {rank, ranks, 5});
      const auto fill = [&](codec::CodecState& of) {
        of = codec::widened(std::move(of));
        of.step = 12;
        for (auto& vector : of.local) {
          for (std::size_t i = 0; i < vector.size(); ++i) {
            vector[i] = gradient(static_cast<int>(rank), bucket, i) * 1e-2F;
          }
        }
      };
      fill(state.sent);
      if (state.back) fill(*state.back);
      one[bucket] = std::move(state);
    }
    all.push_back(std::move(one));
  }
  return all;
}

struct Mass {
  double sent = 0, back = 0;
};
Mass mass_of(const std::vector<BucketStates>& all) {
  Mass mass;
  const auto add = [](const codec::CodecState& state, double& to) {
    for (const auto& vector : state.local) to = std::accumulate(vector.begin(), vector.end(), to);
  };
  for (const BucketStates& one : all) {
    for (const auto& [number, state] : one) {
      add(state.sent, mass.sent);
      if (state.back) add(*state.back, mass.back);
    }
  }
  return mass;
}

std::vector<BucketStates> moved(const codec::Codec& codec, const std::vector<BucketStates>& old,
                                std::uint32_t ranks) {
  std::vector<BucketStates> now;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    const codec::Place place{rank, ranks, 5};
    auto states = spread_states(codec, old, place);
    EXPECT_TRUE(states.ok()) << states.error().what;
    now.push_back(std::move(*states));
  }
  return now;
}

TEST(BucketState, MassStaysWithAnotherNumberOfRanks) {
  for (const auto& codec : all_codecs()) {
    SCOPED_TRACE(codec->text());
    const auto old = filled_states(*codec, 4);
    const Mass before = mass_of(old);
    for (const std::uint32_t ranks : {1U, 3U, 4U, 6U}) {
      const auto now = moved(*codec, old, ranks);
      const Mass after = mass_of(now);
      EXPECT_NEAR(before.sent, after.sent, 1e-6 * kBucketSize);
      EXPECT_NEAR(before.back, after.back, 1e-6);
      for (const BucketStates& one : now) {
        const BucketState& state = one.at(7);
        EXPECT_EQ(state.sent.step, 12U);
        if (!state.back) continue;
        const auto part = sync::part_of(kBucketSize + 7, ranks, state.sent.place.rank);
        EXPECT_EQ(state.first, part.from);
        EXPECT_EQ(state.back->size, part.size);
      }
    }
  }
}

TEST(BucketState, TheSameNumberOfRanksGoesOnExactly) {
  const auto codec = codec_of("int8");
  const auto old = filled_states(*codec, 3);
  const auto now = moved(*codec, old, 3);
  for (std::size_t rank = 0; rank < 3; ++rank) {
    EXPECT_TRUE(now[rank].at(0).sent == old[rank].at(0).sent);
    EXPECT_TRUE(*now[rank].at(0).back == *old[rank].at(0).back);
  }
}

TEST(BucketState, APartWhoseOwnerIsLostBeginsAnew) {
  const auto codec = codec_of("int8");
  auto old = filled_states(*codec, 4);
  old.erase(old.begin() + 1);
  const auto now = moved(*codec, old, 2);
  const auto lost = sync::part_of(kBucketSize, 4, 1);
  for (const BucketStates& one : now) {
    const BucketState& state = one.at(0);
    for (std::size_t i = 0; i < state.back->size; ++i) {
      const std::size_t at = state.first + i;
      if (at >= lost.from && at < lost.from + lost.size) {
        ASSERT_EQ(state.back->local[0][i], 0.0F);
      }
    }
  }
}

// Saved bytes may say anything. What a codec could not go on from is refused when it is read.
TEST(BucketState, StatesThatDoNotFitTheirCodecAreRefused) {
  for (const auto& codec : all_codecs()) {
    SCOPED_TRACE(codec->text());
    const BucketStates good = filled_states(*codec, 3)[1];
    const auto load = [&](const BucketStates& states) {
      const std::string bytes = save_states(*codec, states);
      return load_states(*codec, std::as_bytes(std::span(bytes)));
    };
    ASSERT_TRUE(load(good).ok()) << load(good).error().what;
    const auto refused = [&](const char* why, const auto& spoil) {
      BucketStates bad = good;
      spoil(bad.at(7));
      const auto read = load(bad);
      ASSERT_FALSE(read.ok()) << why;
      EXPECT_THAT(read.error().what, testing::HasSubstr("bucket 7"));
    };
    if (!good.at(7).sent.local.empty() || !good.at(7).sent.shared.empty()) {
      refused("nothing is there", [](BucketState& s) {
        s.sent.local.clear();
        s.sent.shared.clear();
      });
    }
    refused("one vector more", [](BucketState& s) { s.sent.local.emplace_back(s.sent.size); });
    refused("one shared vector more", [](BucketState& s) { s.sent.shared.resize(3); });
    refused("of another rank than its neighbour", [](BucketState& s) { s.sent.place.rank = 0; });
    refused("of more ranks than its neighbour", [](BucketState& s) { s.sent.place.ranks = 9; });
    refused("a part that begins elsewhere", [](BucketState& s) { ++s.first; });
    if (!good.at(7).back) continue;
    refused("no way back", [](BucketState& s) { s.back.reset(); });
    refused("a part of all values", [&](BucketState& s) {
      s.back = codec->opaque()->back().make_state(s.sent.size, s.sent.place);
    });
    refused("a way back of another rank", [](BucketState& s) { s.back->place.rank = 0; });
    refused("a vector more on the way back",
            [](BucketState& s) { s.back->local.emplace_back(s.back->size); });
  }
}

TEST(BucketState, ABucketThatComesTwiceIsRefused) {
  const auto codec = codec_of("randomk");
  std::string bytes = save_states(*codec, {{3, make_bucket_state(*codec, 4, {})}});
  const std::size_t head = 4 + 4 + 4 + codec->text().size() + 4;
  bytes[head - 4] = 2;
  bytes += bytes.substr(head);
  EXPECT_THAT(load_states(*codec, std::as_bytes(std::span(bytes))).error().what,
              testing::HasSubstr("bucket 3 after 1 others"));
}

// ScaleCom's ranks lead in turn: ranks at different steps would wait for each other.
TEST(BucketState, RanksGoOnInStep) {
  const auto codec = codec_of("scalecom");
  auto old = filled_states(*codec, 3);
  old[2].at(7).sent.step = 15;
  for (const BucketStates& one : moved(*codec, old, 3)) EXPECT_EQ(one.at(7).sent.step, 15U);
  old[1].at(7).sent.place.seed = 6;
  EXPECT_FALSE(spread_states(*codec, old, {0, 3, 5}).ok());
}

TEST(BucketState, BytesComeBackAndBrokenOnesAreRefused) {
  const auto codec = codec_of("int8");
  const BucketStates one = filled_states(*codec, 2)[1];
  const std::string bytes = save_states(*codec, one);
  const auto view = std::as_bytes(std::span(bytes));
  const auto back = load_states(*codec, view);
  ASSERT_TRUE(back.ok()) << back.error().what;
  EXPECT_TRUE(back->at(7).sent == one.at(7).sent);
  EXPECT_FALSE(load_states(*codec_of("int4"), view).ok());
  for (std::size_t cut = 0; cut < bytes.size(); cut += 1 + cut / 7) {
    EXPECT_FALSE(load_states(*codec, view.first(cut)).ok()) << cut;
  }
  const std::string longer = bytes + "x";
  EXPECT_FALSE(load_states(*codec, std::as_bytes(std::span(longer))).ok());
  for (std::size_t at = 0; at < 120; ++at) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x55);
    const auto read = load_states(*codec, std::as_bytes(std::span(damaged)));
    if (read.ok()) {
      for (const auto& [number, state] : *read) EXPECT_LE(state.first, state.sent.size);
    }
  }
}

}  // namespace
}  // namespace weft::runtime
