#include "codec/thc_kernels.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "base/random.h"
#include "base/vector_testing.h"
#include "codec/draw.h"

namespace weft::codec {
namespace {

constexpr std::size_t kLengths[] = {8, 16, 32, 64, 128, 1024, 4096};
constexpr std::uint32_t kKey = 0xFFFFFF00;  // places wrap round

void flip(std::vector<float>& values, std::uint32_t key) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint32_t drawn = draw_word(key + static_cast<std::uint32_t>(i));
    if ((drawn & 0x80000000) != 0) values[i] = -values[i];
  }
}

void transform(std::vector<float>& values) {
  for (std::size_t half = 1; half < values.size(); half *= 2) {
    for (std::size_t i = 0; i < values.size(); i += 2 * half) {
      for (std::size_t j = i; j < i + half; ++j) {
        const float a = values[j], b = values[j + half];
        values[j] = a + b;
        values[j + half] = a - b;
      }
    }
  }
  const float scale = 1 / std::sqrt(static_cast<float>(values.size()));
  for (float& value : values) value *= scale;
}

std::vector<float> draw(std::size_t count, Random& random) {
  std::vector<float> values(count);
  for (float& x : values) x = static_cast<float>(random.normal());
  return values;
}

bool same(const std::vector<float>& a, const std::vector<float>& b) {
  return std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

class ThcKernelsTest : public ::testing::TestWithParam<std::int64_t> {
 protected:
  UseVectorTarget use_{GetParam()};
  const ThcKernels& kernels_ = thc_kernels();
  Random random_{31};
};

TEST_P(ThcKernelsTest, RotationsEqualTheReferenceBitByBitAndUndoEachOther) {
  for (const std::size_t count : kLengths) {
    SCOPED_TRACE(count);
    const std::vector<float> values = draw(count, random_);
    std::vector<float> want = values, got = values;
    flip(want, kKey);
    transform(want);
    kernels_.rotate(got.data(), count, kKey);
    ASSERT_TRUE(same(got, want));
    transform(want);
    flip(want, kKey);
    kernels_.rotate_back(got.data(), count, kKey);
    ASSERT_TRUE(same(got, want));
    for (std::size_t i = 0; i < count; ++i) ASSERT_NEAR(got[i], values[i], 1e-5);
  }
}

TEST_P(ThcKernelsTest, CodesEqualTheReferenceBitByBit) {
  for (const std::size_t count : kLengths) {
    for (const bool random : {false, true}) {
      for (const ThcGrid grid : {ThcGrid{2.5F, 63}, ThcGrid{0, 15}, ThcGrid{1e-3F, 255}}) {
        SCOPED_TRACE(fmt::format("{} values, top {}, {}", count, grid.top, random));
        std::vector<float> got = draw(count, random_), want = got, sums(count), want_sums(count);
        std::vector<std::uint8_t> codes(count), want_codes(count);
        const float inverse = grid.top > 0 ? grid.levels / (2 * grid.top) : 0;
        for (std::size_t i = 0; i < count; ++i) {
          const float rise = random ? draw_unit(kKey + static_cast<std::uint32_t>(i)) : 0.5F;
          const float level = std::floor((want[i] + grid.top) * inverse + rise);
          const float code = std::clamp(level, 0.0F, grid.levels);
          want_codes[i] = static_cast<std::uint8_t>(code);
          want[i] = (2 * code / grid.levels - 1) * grid.top;
          want_sums[i] = (2 * code / grid.levels - 3) * grid.top;
        }
        kernels_.quantise(grid, got.data(), count, kKey, random, codes.data());
        kernels_.expand(grid, codes.data(), count, 3, sums.data());
        ASSERT_EQ(codes, want_codes);
        ASSERT_TRUE(same(got, want));
        ASSERT_TRUE(same(sums, want_sums));
      }
    }
  }
}

TEST_P(ThcKernelsTest, TheLargestMagnitudeIsFound) {
  for (const std::size_t count : kLengths) {
    std::vector<float> values = draw(count, random_);
    const std::size_t at = random_.below(count);
    values[at] = -100;
    EXPECT_EQ(kernels_.largest(values.data(), count), 100);
    values[at] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_FALSE(std::isfinite(kernels_.largest(values.data(), count)));
  }
}

INSTANTIATE_TEST_SUITE_P(Sets, ThcKernelsTest, ::testing::ValuesIn(vector_targets()),
                         vector_target_name);

}  // namespace
}  // namespace weft::codec
