#include "codec/dense_kernels.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <limits>
#include <vector>

#include "base/random.h"
#include "base/vector_testing.h"
#include "codec/dense.h"
#include "codec/reference_testing.h"

namespace weft::codec {
namespace {

struct DenseRow {
  const char* name;
  DenseFormat format;
};

constexpr float kAny = std::numeric_limits<float>::infinity();
constexpr ResidualForm kFloats = ResidualForm::kFloat32;

std::vector<DenseRow> rows() {
  using K = DenseKind;
  return {
      {"fp32", {WireId::kFloat32, {K::kFloat32, 32, kTile, 0, kAny, 0}, kFloats}},
      {"fp16", {WireId::kFloat16, {K::kFloat16, 16, kTile, 0, 65520.0F, 0}, kFloats}},
      {"bf16", {WireId::kBfloat16, {K::kBfloat16, 16, kTile, 0, 0x1p127F, 0}, kFloats}},
      {"int8", {WireId::kInt8, {K::kInt8, 8, 256, 1, 0x1p126F, 0}, kFloats}},
      {"int8 random", {WireId::kInt8, {K::kInt8Random, 8, 128, 1, 0x1p126F, 0}, kFloats}},
      {"int4", {WireId::kInt4, {K::kInt4, 4, 128, 1, 0x1p126F, 0}, kFloats}},
      {"int4 random", {WireId::kInt4, {K::kInt4Random, 4, 1024, 1, 0x1p126F, 0}, kFloats}},
      {"ternary", {WireId::kTernGrad, {K::kTernary, 2, 256, 1, 0x1p57F, 2.5F}, kFloats}},
      {"ternary random", {WireId::kTernGrad, {K::kTernaryRandom, 2, 128, 1, 0x1p57F, 0}, kFloats}},
      {"ternary random, clipped",
       {WireId::kTernGrad, {K::kTernaryRandom, 2, 256, 1, 0x1p57F, 1.5F}, kFloats}},
      {"qsgd8", {WireId::kQsgd, {K::kQsgd8, 8, 512, 1, 0x1p57F, 0}, kFloats}},
      {"qsgd8 random", {WireId::kQsgd, {K::kQsgd8Random, 8, 128, 1, 0x1p57F, 0}, kFloats}},
      {"qsgd4", {WireId::kQsgd, {K::kQsgd4, 4, 128, 1, 0x1p57F, 0}, kFloats}},
      {"qsgd4 random", {WireId::kQsgd, {K::kQsgd4Random, 4, 128, 1, 0x1p57F, 0}, kFloats}},
      {"qsgd2", {WireId::kQsgd, {K::kQsgd2, 2, 128, 1, 0x1p57F, 0}, kFloats}},
      {"qsgd2 random", {WireId::kQsgd, {K::kQsgd2Random, 2, 256, 1, 0x1p57F, 0}, kFloats}},
      {"e4m3", {WireId::kFloat8E4m3, {K::kE4m3, 8, 256, 1, 0x1p126F, 0}, kFloats}},
      {"e5m2", {WireId::kFloat8E5m2, {K::kE5m2, 8, 128, 1, 0x1p126F, 0}, kFloats}},
      {"natural", {WireId::kNatural, {K::kNatural, 8, 256, 1, 0x1p126F, 0}, kFloats}},
      {"natural random", {WireId::kNatural, {K::kNaturalRandom, 8, 128, 1, 0x1p126F, 0}, kFloats}},
      {"sign", {WireId::kSign, {K::kSign, 1, kTile, 0, kAny, 0}, kFloats}},
      {"scaled sign", {WireId::kScaledSign, {K::kScaledSign, 1, 128, 1, 0x1p115F, 0}, kFloats}},
      {"one bit", {WireId::kOneBit, {K::kOneBit, 1, 256, 2, 0x1p115F, 0}, kFloats}}};
}

// Mostly of like size; some 0, some tiny, some denormal.
std::vector<float> draw_of_many_sizes(std::size_t count, Random& random) {
  std::vector<float> values(count);
  for (float& x : values) {
    const auto kind = random.below(16);
    x = static_cast<float>(random.normal());
    if (kind == 0) x = random.chance(0.5) ? 0.0F : -0.0F;
    if (kind == 1) x *= 1e-6F;
    if (kind == 2) x *= 1e-40F;
  }
  return values;
}

class DenseKernelsTest : public ::testing::TestWithParam<std::int64_t> {
 protected:
  UseVectorTarget use_{GetParam()};
};

// Numbers that fit the residual's form, and their bits there.
struct Held {
  Held(std::vector<float> values, ResidualForm form) : floats(std::move(values)) {
    if (form != ResidualForm::kCompact) return;
    for (float& x : floats) {
      compact.push_back(compact_of(x, kToNearest));
      x = wide_of(compact.back());
    }
  }
  Residual residual() {
    return compact.empty() ? Residual{floats.data()} : Residual{nullptr, compact.data()};
  }
  float at(std::size_t i) { return residual().at(i); }

  std::vector<float> floats;
  std::vector<std::uint16_t> compact;
};

std::vector<DenseRow> rows_of_all_forms() {
  std::vector<DenseRow> all = rows();
  for (DenseRow row : rows()) {
    row.format.residual = ResidualForm::kCompact;
    all.push_back(row);
  }
  return all;
}

TEST_P(DenseKernelsTest, EqualTheReferenceBitByBit) {
  Random random(11);
  for (const DenseRow& row : rows_of_all_forms()) {
    const DenseLoops loops(row.format);
    for (const std::size_t count : {0, 1, 7, 31, 32, 33, 127, 129, 255, 1023, 1024, 1025, 3000}) {
      SCOPED_TRACE(fmt::format("{}, {} values", row.name, count));
      const std::vector<float> values = draw_of_many_sizes(count, random);
      Held held(draw_of_many_sizes(count, random), row.format.residual);
      const auto key = static_cast<std::uint32_t>(random.next());
      const auto want = reference_encode(row.format, values, held.floats, key, 77);
      std::vector<std::byte> bytes(loops.bytes(count));
      ASSERT_TRUE(loops.encode(values, held.residual(), key, 77, bytes).ok());
      ASSERT_EQ(std::memcmp(bytes.data(), want.bytes.data(), bytes.size()), 0);
      if (count == 0) continue;
      for (std::size_t i = 0; i < count; ++i) {
        ASSERT_EQ(std::bit_cast<std::uint32_t>(held.at(i)),
                  std::bit_cast<std::uint32_t>(want.residual[i]))
            << i;
      }

      std::vector<float> decoded(count), sum(count, 1.0F);
      ASSERT_TRUE(loops.decode(bytes, decoded, false).ok());
      ASSERT_TRUE(loops.decode(bytes, sum, true).ok());
      for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(sum[i], 1.0F + decoded[i]) << i;

      // Without feedback the residual counts for nothing.
      const auto plain = reference_encode(row.format, values, {}, key, 77);
      ASSERT_TRUE(loops.encode(values, {}, key, 77, bytes).ok());
      ASSERT_EQ(std::memcmp(bytes.data(), plain.bytes.data(), bytes.size()), 0);
      // Values may lie anywhere.
      std::vector<float> further(1);
      further.insert(further.end(), values.begin(), values.end());
      ASSERT_TRUE(loops.encode(std::span(further).subspan(1), {}, key, 77, bytes).ok());
      ASSERT_EQ(std::memcmp(bytes.data(), plain.bytes.data(), bytes.size()), 0);
    }
  }
}

// What is decoded and what is left make up what came in.
TEST_P(DenseKernelsTest, DecodedAndResidualMakeTheSum) {
  Random random(12);
  for (const DenseRow& row : rows()) {
    SCOPED_TRACE(row.name);
    const DenseLoops loops(row.format);
    const std::vector<float> values = draw_of_many_sizes(2500, random);
    std::vector<float> residual = draw_of_many_sizes(2500, random), before = residual,
                       decoded(2500);
    std::vector<std::byte> bytes(loops.bytes(2500));
    ASSERT_TRUE(loops.encode(values, {residual.data()}, 5, 0, bytes).ok());
    ASSERT_TRUE(loops.decode(bytes, decoded, false).ok());
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double sum = static_cast<double>(values[i] + before[i]);
      EXPECT_NEAR(static_cast<double>(decoded[i]) + static_cast<double>(residual[i]), sum, 3e-6);
    }
  }
}

// What a restored state carries beside its compact residual counts in full, once.
TEST_P(DenseKernelsTest, ACarriedResidualIsAddedInFull) {
  Random random(13);
  for (DenseRow row : rows()) {
    row.format.residual = ResidualForm::kCompact;
    const DenseLoops loops(row.format);
    for (const std::size_t count : {7, 1024, 1500}) {
      SCOPED_TRACE(fmt::format("{}, {} values", row.name, count));
      const std::vector<float> values = draw_of_many_sizes(count, random);
      std::vector<float> carried = draw_of_many_sizes(count, random);
      const std::vector<float> before = carried;
      Held held(std::vector<float>(count, -0.0F), row.format.residual);
      const auto want = reference_encode(row.format, values, carried, 9, 0);
      std::vector<std::byte> bytes(loops.bytes(count));
      ASSERT_TRUE(
          loops.encode(values, Residual{carried.data(), held.compact.data()}, 9, 0, bytes).ok());
      ASSERT_EQ(std::memcmp(bytes.data(), want.bytes.data(), bytes.size()), 0);
      ASSERT_EQ(carried, before) << "the caller forgets it";
      for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(held.at(i), want.residual[i]) << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sets, DenseKernelsTest, ::testing::ValuesIn(vector_targets()),
                         vector_target_name);

}  // namespace
}  // namespace weft::codec
