#include "codec/sparse_kernels.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "base/random.h"
#include "base/vector_testing.h"

namespace weft::codec {
namespace {

constexpr std::size_t kCounts[] = {0, 1, 7, 15, 16, 17, 31, 33, 100, 511, 512, 513, 3000};

// A chunk and what came of it, with room for everything that may be chosen.
struct Chunk {
  std::vector<float> values, velocity, residual;
  std::vector<std::uint16_t> offsets;
  std::vector<float> sent;
  Chosen chosen;
  std::size_t handled = 0;

  void prepare(std::size_t room, std::size_t ties) {
    offsets.resize(values.size() + 1);
    sent.resize(values.size() + 1);
    chosen = {offsets.data(), sent.data(), 0, room, ties};
  }
};

// One value after the other, as sparse_kernels.h says it.
bool take(Chunk& c, float v, std::size_t i, float threshold) {
  if (c.chosen.room == 0) return false;
  if (std::abs(v) == threshold) {
    if (c.chosen.ties == 0) return false;
    --c.chosen.ties;
  }
  --c.chosen.room;
  c.offsets[c.chosen.count] = static_cast<std::uint16_t>(i);
  c.sent[c.chosen.count++] = v;
  return true;
}

// A line of 16 values is left as it is when one of it is not finite.
std::size_t good_values(const Chunk& c, bool feedback) {
  for (std::size_t i = 0; i < c.values.size(); ++i) {
    const float v = feedback ? c.values[i] + c.residual[i] : c.values[i];
    if (!std::isfinite(v)) return i / 16 * 16;
  }
  return c.values.size();
}

void reference_choose(Chunk& c, bool feedback, float threshold) {
  c.handled = good_values(c, feedback);
  for (std::size_t i = 0; i < c.handled; ++i) {
    const float v = feedback ? c.values[i] + c.residual[i] : c.values[i];
    if (feedback) c.residual[i] = v;
    if (std::abs(v) >= threshold && take(c, v, i, threshold) && feedback) c.residual[i] = 0;
  }
}

void reference_velocity(Chunk& c, float momentum, float scale, float threshold) {
  for (std::size_t i = 0; i < c.values.size(); ++i) {
    const float kept = momentum * c.velocity[i], fresh = scale * c.values[i];
    c.velocity[i] = kept + fresh;
  }
  for (std::size_t i = 0; i < c.values.size(); ++i) {
    const float v = c.velocity[i] + c.residual[i];
    c.residual[i] = v;
    if (std::abs(v) >= threshold && take(c, v, i, threshold)) c.residual[i] = 0;
  }
}

void reference_bins(Chunk& c, std::size_t bin) {
  for (std::size_t at = 0; at < c.values.size(); at += bin) {
    const std::size_t end = std::min(at + bin, c.values.size());
    float most = 0;
    for (std::size_t i = at; i < end; ++i) {
      c.residual[i] += c.values[i];
      most = std::max(most, std::abs(c.residual[i]));
    }
    for (std::size_t i = at; most > 0 && i < end; ++i) {
      const float eager = c.residual[i] + c.values[i];
      if (std::abs(eager) >= most && take(c, c.residual[i], i, 0)) c.residual[i] = 0;
    }
  }
}

void expect_equal(const Chunk& got, const Chunk& want) {
  const auto same = [](const auto& a, const auto& b, std::size_t count) {
    return count == 0 || std::memcmp(a.data(), b.data(), count * sizeof a[0]) == 0;
  };
  ASSERT_EQ(got.chosen.count, want.chosen.count);
  EXPECT_EQ(got.chosen.room, want.chosen.room);
  EXPECT_EQ(got.chosen.ties, want.chosen.ties);
  EXPECT_TRUE(same(got.offsets, want.offsets, want.chosen.count));
  EXPECT_TRUE(same(got.sent, want.sent, want.chosen.count));
  EXPECT_TRUE(same(got.residual, want.residual, want.residual.size()));
  EXPECT_TRUE(same(got.velocity, want.velocity, want.velocity.size()));
}

// Some zeros, some denormals, many of magnitude 1, so that there are ties.
std::vector<float> draw_with_ties(std::size_t count, Random& random) {
  std::vector<float> values(count);
  for (float& x : values) {
    const auto kind = random.below(8);
    x = static_cast<float>(random.normal());
    if (kind == 0) x = random.chance(0.5) ? 0.0F : -0.0F;
    if (kind == 1) x = random.chance(0.5) ? 1.0F : -1.0F;
    if (kind == 2) x *= 1e-40F;
  }
  return values;
}

Chunk draw_chunk(std::size_t count, Random& random, bool zeros) {
  Chunk c;
  c.values = draw_with_ties(count, random);
  c.velocity = draw_with_ties(count, random);
  c.residual = zeros ? std::vector<float>(count) : draw_with_ties(count, random);
  return c;
}

class SparseKernelsTest : public ::testing::TestWithParam<std::int64_t> {
 protected:
  UseVectorTarget use_{GetParam()};
  const SparseKernels& kernels_ = sparse_kernels();
};

TEST_P(SparseKernelsTest, ChoosingEqualsTheReferenceBitByBit) {
  Random random(21);
  for (const std::size_t count : kCounts) {
    for (int round = 0; round < 12; ++round) {
      SCOPED_TRACE(fmt::format("{} values, round {}", count, round));
      const bool feedback = round % 3 != 0;
      Chunk want = draw_chunk(count, random, round % 2 == 0);
      if (round == 10 && count > 0) {
        want.values[random.below(count)] = std::numeric_limits<float>::quiet_NaN();
      }
      if (round == 11 && count > 0) {
        want.values[random.below(count)] = -std::numeric_limits<float>::infinity();
      }
      const std::size_t room = round == 4 ? count / 4 : count, ties = random.below(count + 1);
      const float threshold = round < 6 ? 1.0F : 0.3F;
      Chunk got = want;
      want.prepare(room, ties);
      got.prepare(room, ties);
      reference_choose(want, feedback, threshold);
      got.handled = kernels_.choose(got.values.data(), feedback ? got.residual.data() : nullptr,
                                    count, threshold, got.chosen);
      EXPECT_EQ(got.handled, want.handled);
      expect_equal(got, want);
    }
  }
}

TEST_P(SparseKernelsTest, VelocitiesEqualTheReferenceBitByBit) {
  Random random(22);
  for (const std::size_t count : kCounts) {
    SCOPED_TRACE(fmt::format("{} values", count));
    Chunk want = draw_chunk(count, random, false);
    Chunk got = want;
    want.prepare(count, count);
    got.prepare(count, count);
    reference_velocity(want, 0.9F, 0.25F, 0.8F);
    EXPECT_EQ(kernels_.choose_velocity(got.values.data(), got.velocity.data(), got.residual.data(),
                                       count, 0.9F, 0.25F, 0.8F, got.chosen),
              count);
    expect_equal(got, want);
  }
}

TEST_P(SparseKernelsTest, BinsEqualTheReferenceBitByBit) {
  Random random(23);
  for (const std::size_t count : kCounts) {
    for (const std::size_t bin : {1, 5, 16, 50, 512}) {
      for (const bool zeros : {false, true}) {
        SCOPED_TRACE(fmt::format("{} values in bins of {}", count, bin));
        Chunk want = draw_chunk(count, random, zeros);
        if (zeros) std::fill_n(want.values.begin(), count / 2, 0.0F);
        Chunk got = want;
        const std::size_t room = zeros ? count / 3 : count;
        want.prepare(room, count);
        got.prepare(room, count);
        reference_bins(want, bin);
        kernels_.choose_bins(got.values.data(), got.residual.data(), count, bin, got.chosen);
        expect_equal(got, want);
      }
    }
  }
}

TEST_P(SparseKernelsTest, SumsOfSquaresAreRightAndTellOfWhatIsNotFinite) {
  Random random(24);
  for (const std::size_t count : kCounts) {
    std::vector<float> values = draw_with_ties(count, random);
    double want = 0;
    for (const float x : values) want += static_cast<double>(x) * static_cast<double>(x);
    EXPECT_NEAR(kernels_.sum_of_squares(values.data(), count), want, 1e-5 * want);
    if (count == 0) continue;
    values[random.below(count)] = std::numeric_limits<float>::infinity();
    EXPECT_FALSE(std::isfinite(kernels_.sum_of_squares(values.data(), count)));
  }
}

INSTANTIATE_TEST_SUITE_P(Sets, SparseKernelsTest, ::testing::ValuesIn(vector_targets()),
                         vector_target_name);

}  // namespace
}  // namespace weft::codec
