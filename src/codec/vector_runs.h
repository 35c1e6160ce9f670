// Vectors as the codecs' kernels use them. Compiled once for each set of instructions, so it is
// included between hwy/foreach_target.h and the first namespace of a kernel file, and nowhere else.

#include "base/vector_targets.h"

#include <hwy/highway.h>

// Highway includes the file again for each set and defines HWY_ONCE as true for the last.
#if HWY_ONCE
#pragma once
#endif

#include <bit>
#include <cstddef>
#include <cstdint>

#include "codec/draw.h"

HWY_BEFORE_NAMESPACE();
namespace weft::codec {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using F = hn::ScalableTag<float>;
using U = hn::RebindToUnsigned<F>;
using I = hn::RebindToSigned<F>;
using VF = hn::Vec<F>;
using VU = hn::Vec<U>;
using VI = hn::Vec<I>;
inline constexpr std::size_t kLanes = hn::MaxLanes(F());

HWY_INLINE VF real(float x) { return hn::Set(F(), x); }
HWY_INLINE VU word(std::uint32_t x) { return hn::Set(U(), x); }
HWY_INLINE VU bits_of(VF x) { return hn::BitCast(U(), x); }
HWY_INLINE VF real_of(VU x) { return hn::BitCast(F(), x); }
HWY_INLINE VU size_bits(VF x) { return hn::And(bits_of(x), word(0x7FFFFFFF)); }

// The draw of draw.h for kLanes neighbours.
HWY_INLINE VU draw_words(std::uint32_t key, std::uint32_t first) {
  VU x = hn::Add(hn::Iota(U(), first), word(key));
  x = hn::Mul(x, word(kDrawFactor1));
  x = hn::Xor(x, hn::ShiftRight<15>(x));
  x = hn::Mul(x, word(kDrawFactor2));
  return hn::Xor(x, hn::ShiftRight<16>(x));
}
HWY_INLINE VF draw_units(std::uint32_t key, std::uint32_t first) {
  const VI whole = hn::BitCast(I(), hn::ShiftRight<8>(draw_words(key, first)));
  return hn::Mul(hn::ConvertTo(F(), whole), real(0x1p-24F));
}

// Largest magnitude, as bits: those order like the numbers, with infinity and NaN above all.
struct MostBits {
  VU most;
  HWY_INLINE MostBits() : most(hn::Zero(U())) {}
  HWY_INLINE void add(VF x, std::size_t) { most = hn::Max(most, size_bits(x)); }
  HWY_INLINE std::uint32_t bits() const { return hn::GetLane(hn::MaxOfLanes(U(), most)); }
};

// A sum in an order that does not depend on the width of vectors: 32 columns, then halves.
struct ColumnSum {
  static constexpr std::size_t kColumns = 32 / kLanes;
  VF columns[kColumns];
  ColumnSum() {
    for (VF& column : columns) column = hn::Zero(F());
  }
  // `at` is the place in the run of 32.
  HWY_INLINE void add(VF x, std::size_t at) {
    columns[at / kLanes] = hn::Add(columns[at / kLanes], x);
  }
  HWY_INLINE float total() const {
    alignas(64) float all[32];
    for (std::size_t i = 0; i < kColumns; ++i) hn::StoreU(columns[i], F(), all + i * kLanes);
    for (std::size_t half = 16; half > 0; half /= 2) {
      for (std::size_t i = 0; i < half; ++i) all[i] += all[i + half];
    }
    return all[0];
  }
};

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace weft::codec
HWY_AFTER_NAMESPACE();
