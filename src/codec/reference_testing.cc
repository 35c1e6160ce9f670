#include "codec/reference_testing.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "codec/draw.h"

namespace weft::codec {
namespace {

struct Coded {
  std::uint32_t code = 0;
  float value = 0;
};

// Rounds to a float of few bits by arithmetic on numbers, not on bits.
Coded small_float(float x, int mantissa, int bias) {
  const int exponent = x == 0 ? 1 - bias : std::max(std::ilogb(x), 1 - bias);
  const double quantum = std::ldexp(1.0, exponent - mantissa);
  const double rounded = std::nearbyint(std::abs(static_cast<double>(x)) / quantum) * quantum;
  Coded coded;
  coded.value = std::copysign(static_cast<float>(rounded), x);
  if (rounded != 0) {
    const int e = std::max(std::ilogb(rounded), 1 - bias);
    const auto steps = static_cast<std::uint32_t>(std::ldexp(rounded, mantissa - e));
    const auto one = std::uint32_t{1} << mantissa;
    // Denormals have the exponent of the least normal numbers but not their leading one.
    coded.code = steps + (static_cast<std::uint32_t>(e + bias - 1) * one);
  }
  return coded;
}

bool is_random(DenseKind kind) {
  switch (kind) {
    case DenseKind::kInt8Random:
    case DenseKind::kInt4Random:
    case DenseKind::kTernaryRandom:
    case DenseKind::kQsgd8Random:
    case DenseKind::kQsgd4Random:
    case DenseKind::kQsgd2Random:
    case DenseKind::kNaturalRandom:
      return true;
    default:
      return false;
  }
}

bool between(DenseKind kind, DenseKind first, DenseKind last) {
  return kind >= first && kind <= last;
}

// Sums as the rule says: 32 columns, then halves.
float column_sum(const std::vector<float>& terms) {
  std::array<float, 32> columns{};
  for (std::size_t i = 0; i < terms.size(); ++i) columns[i % 32] += terms[i];
  for (std::size_t half = 16; half > 0; half /= 2) {
    for (std::size_t i = 0; i < half; ++i) columns[i] += columns[i + half];
  }
  return columns[0];
}

template <class Term>
float sum_over(std::span<const float> v, const Term& term) {
  std::vector<float> terms;
  for (const float x : v) terms.push_back(term(x));
  return column_sum(terms);
}

std::vector<float> scales_of(const DenseRule& rule, std::span<const float> v) {
  float most = 0;
  for (const float x : v) most = std::max(most, std::abs(x));
  const auto count = static_cast<float>(v.size());
  const float squares = sum_over(v, [](float x) { return x * x; });
  const auto over = [](float top, float levels) { return top < kTiny ? 0 : top / levels; };
  const auto levels = static_cast<float>((std::uint64_t{1} << (rule.bits - 1)) - 1);
  if (between(rule.kind, DenseKind::kInt8, DenseKind::kInt4Random)) return {over(most, levels)};
  if (between(rule.kind, DenseKind::kTernary, DenseKind::kTernaryRandom)) {
    const float clipped = rule.clip * std::sqrt(squares / count);
    return {over(rule.clip > 0 ? std::min(most, clipped) : most, 1)};
  }
  if (between(rule.kind, DenseKind::kQsgd8, DenseKind::kQsgd2Random)) {
    return {over(std::sqrt(squares), levels)};
  }
  if (rule.kind == DenseKind::kE4m3) return {over(most, 448)};
  if (rule.kind == DenseKind::kE5m2) return {over(most, 57344)};
  if (between(rule.kind, DenseKind::kNatural, DenseKind::kNaturalRandom)) {
    const std::uint32_t exponent = std::bit_cast<std::uint32_t>(most) >> 23;
    return {std::bit_cast<float>((exponent + 1) << 23)};
  }
  if (rule.kind == DenseKind::kScaledSign) {
    return {sum_over(v, [](float x) { return std::abs(x); }) / count};
  }
  if (rule.kind == DenseKind::kOneBit) {
    const float below = sum_over(v, [](float x) { return std::signbit(x) ? 1.0F : 0.0F; });
    const float positive = sum_over(v, [](float x) { return std::signbit(x) ? 0.0F : x; });
    const float negative = sum_over(v, [](float x) { return std::signbit(x) ? x : 0.0F; });
    return {count > below ? positive / (count - below) : 0, below > 0 ? negative / below : 0};
  }
  return {};
}

Coded natural(float x, float scale, bool random, std::uint32_t place) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(std::abs(x));
  const std::uint32_t rise = random ? draw_word(place) >> 9 : 1U << 22;
  const auto exponent = static_cast<std::int32_t>((bits + rise) >> 23);
  const auto top = static_cast<std::int32_t>(std::bit_cast<std::uint32_t>(scale) >> 23);
  const std::int32_t steps = exponent - (top - 127);
  const bool sent = exponent > 0 && steps > 0;
  Coded coded;
  coded.code = (sent ? static_cast<std::uint32_t>(steps) : 0) | (std::signbit(x) ? 0x80U : 0U);
  coded.value = std::copysign(
      sent ? std::bit_cast<float>(static_cast<std::uint32_t>(exponent) << 23) : 0.0F, x);
  return coded;
}

Coded code_of(const DenseRule& rule, float x, const std::vector<float>& scales,
              std::uint32_t place) {
  switch (rule.kind) {
    case DenseKind::kFloat32:
      return {std::bit_cast<std::uint32_t>(x), x};
    case DenseKind::kFloat16:
    case DenseKind::kBfloat16: {
      const bool half = rule.kind == DenseKind::kFloat16;
      Coded coded = half ? small_float(x, 10, 15) : small_float(x, 7, 127);
      coded.code |= std::signbit(x) ? 0x8000U : 0U;
      return coded;
    }
    case DenseKind::kE4m3:
    case DenseKind::kE5m2: {
      const float scaled = x * (scales[0] == 0 ? 0 : 1 / scales[0]);
      Coded coded =
          rule.kind == DenseKind::kE4m3 ? small_float(scaled, 3, 7) : small_float(scaled, 2, 15);
      coded.code |= std::signbit(x) ? 0x80U : 0U;
      coded.value = std::copysign(std::abs(coded.value) * scales[0], x);
      return coded;
    }
    case DenseKind::kNatural:
    case DenseKind::kNaturalRandom:
      return natural(x, scales[0], is_random(rule.kind), place);
    case DenseKind::kSign:
      return {std::signbit(x) ? 1U : 0U, std::signbit(x) ? -1.0F : 1.0F};
    case DenseKind::kScaledSign:
      return {std::signbit(x) ? 1U : 0U, std::signbit(x) ? -scales[0] : scales[0]};
    case DenseKind::kOneBit:
      return {std::signbit(x) ? 1U : 0U, std::signbit(x) ? scales[1] : scales[0]};
    default:
      break;
  }
  const int offset = 1 << (rule.bits - 1);
  const auto levels = static_cast<float>(offset - 1);
  const float scaled = x * (scales[0] == 0 ? 0 : 1 / scales[0]);
  const float level = std::clamp(
      is_random(rule.kind) ? std::floor(scaled + draw_unit(place)) : std::nearbyint(scaled),
      -levels, levels);
  return {static_cast<std::uint32_t>(static_cast<int>(level) + offset), level * scales[0]};
}

// Puts code i of a buffer where it belongs.
void put_code(std::uint32_t bits, std::size_t i, std::uint32_t code, std::byte* codes) {
  if (bits >= 16) {
    std::memcpy(codes + i * bits / 8, &code, bits / 8);
    return;
  }
  std::size_t bit = i;  // one-bit codes are in order
  if (bits > 1) {
    const std::size_t unit = 256 / bits, in = i % unit;
    bit = i / unit * 256 + in % 8 * 32 + in / 8 * bits;
  }
  codes[bit / 8] |= static_cast<std::byte>(code << bit % 8);
}

}  // namespace

ReferenceResult reference_encode(const DenseFormat& format, std::span<const float> values,
                                 std::span<const float> residual, std::uint32_t key,
                                 std::size_t first) {
  const DenseRule& rule = format.rule;
  const std::size_t count = values.size();
  ReferenceResult result;
  result.bytes.assign(DenseLoops(format).bytes(count), std::byte{0});
  write_envelope({format.id, static_cast<std::uint8_t>(rule.bits), rule.block, count},
                 result.bytes.data());
  std::byte* scales_at = result.bytes.data() + kEnvelopeBytes;
  std::byte* codes =
      scales_at + (count + rule.block - 1) / rule.block * rule.scales * sizeof(float);
  for (std::size_t at = 0; at < count; at += rule.block) {
    std::vector<float> v;
    for (std::size_t i = at; i < std::min<std::size_t>(at + rule.block, count); ++i) {
      v.push_back(residual.empty() ? values[i] : values[i] + residual[i]);
    }
    const std::vector<float> scales = scales_of(rule, v);
    for (const float scale : scales) {
      store_as(scale, scales_at);
      scales_at += sizeof scale;
    }
    for (std::size_t i = 0; i < v.size(); ++i) {
      const auto place = key + static_cast<std::uint32_t>(first + at + i);
      const Coded coded = code_of(rule, v[i], scales, place);
      put_code(rule.bits, at + i, coded.code, codes);
      const float left = v[i] - coded.value;
      const auto tile = static_cast<std::uint32_t>((at + i) / kTile * kTile + (at + i) % kDithers);
      const std::uint32_t draw = draw_word(key + static_cast<std::uint32_t>(first) + tile);
      const bool compact = format.residual == ResidualForm::kCompact;
      result.residual.push_back(compact ? wide_of(compact_of(left, draw)) : left);
    }
    // A unit that values do not fill holds codes of 0.
    const std::size_t unit = rule.bits == 1 ? kRun : rule.bits <= 8 ? 256 / rule.bits : 1;
    for (std::size_t i = at + v.size(); i % unit != 0 && i > count - 1; ++i) {
      const auto place = key + static_cast<std::uint32_t>(first + i);
      put_code(rule.bits, i, code_of(rule, 0, scales, place).code, codes);
    }
  }
  return result;
}

}  // namespace weft::codec
