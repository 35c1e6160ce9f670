#include "runtime/compress/bucket_state.h"

#include <gtest/gtest.h>

#include <numeric>

#include "runtime/compress/reduce_testing.h"
#include "sync/replica.h"

namespace weft::runtime {
namespace {

constexpr std::size_t kBucketSize = 1003;

// States of `ranks` ranks with numbers in every vector.
std::vector<BucketStates> filled(const codec::Codec& codec, std::uint32_t ranks) {
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
    const auto old = filled(*codec, 4);
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
  const auto old = filled(*codec, 3);
  const auto now = moved(*codec, old, 3);
  for (std::size_t rank = 0; rank < 3; ++rank) {
    EXPECT_TRUE(now[rank].at(0).sent == old[rank].at(0).sent);
    EXPECT_TRUE(*now[rank].at(0).back == *old[rank].at(0).back);
  }
}

TEST(BucketState, APartWhoseOwnerIsLostBeginsAnew) {
  const auto codec = codec_of("int8");
  auto old = filled(*codec, 4);
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

TEST(BucketState, BytesComeBackAndBrokenOnesAreRefused) {
  const auto codec = codec_of("int8");
  const BucketStates one = filled(*codec, 2)[1];
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
