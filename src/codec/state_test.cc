#include "codec/state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
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

}  // namespace
}  // namespace weft::codec
