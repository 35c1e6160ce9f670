// Vectors as the codecs' kernels use them. Compiled once for each set of instructions, so it is
// included between hwy/foreach_target.h and the first namespace of a kernel file, and nowhere else.

#include "base/vector_targets.h"

#include <hwy/cache_control.h>
#include <hwy/highway.h>

// Highway includes the file again for each set and defines HWY_ONCE as true for the last.
#if HWY_ONCE
#pragma once
#endif

#include <bit>
#include <cstddef>
#include <cstdint>

#include "codec/draw.h"
#include "codec/residual.h"

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

// The draws of draw.h for a unit of values from `place` on.
class Draws {
 public:
  explicit HWY_INLINE Draws(std::uint32_t place)
      : products_(hn::Mul(hn::Iota(U(), place), word(kDrawFactor1))) {}
  // For the kLanes values from `at` on: one multiplication, as (place + at) · f = place · f + at ·
  // f.
  HWY_INLINE VU words(std::size_t at) const {
    const VU x = hn::Add(products_, word(static_cast<std::uint32_t>(at) * kDrawFactor1));
    return hn::Mul(hn::Xor(x, hn::ShiftRight<15>(x)), word(kDrawFactor2));
  }
  HWY_INLINE VF units(std::size_t at) const {
    const VU one_to_two = hn::Or(hn::ShiftRight<9>(words(at)), word(0x3F800000));
    return hn::Sub(real_of(one_to_two), real(1));
  }

 private:
  VU products_;
};

// Largest magnitude, as bits: those order like the numbers, with infinity and NaN above all.
struct MostBits {
  VU most;
  HWY_INLINE MostBits() : most(hn::Zero(U())) {}
  HWY_INLINE void add(VF x) { most = hn::Max(most, size_bits(x)); }
  HWY_INLINE void add(const MostBits& other) { most = hn::Max(most, other.most); }
  HWY_INLINE std::uint32_t bits() const { return hn::GetLane(hn::MaxOfLanes(U(), most)); }
};

// Four lanes: the vector itself, or the sum of its halves.
template <class V>
HWY_INLINE auto four_of(V x) {
  if constexpr (kLanes == 4) {
    return x;
  } else {
    const hn::FixedTag<float, 4> four;
    return hn::Add(hn::LowerHalf(four, x), hn::UpperHalf(four, x));
  }
}

// A sum in an order that does not depend on the width of vectors: 32 columns, of which the second
// half is added to the first until one is left.
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
    VF sum[kColumns];
    for (std::size_t i = 0; i < kColumns; ++i) sum[i] = columns[i];
    for (std::size_t half = kColumns / 2; half > 0; half /= 2) {
      for (std::size_t i = 0; i < half; ++i) sum[i] = hn::Add(sum[i], sum[i + half]);
    }
    auto last = four_of(sum[0]);
    last = hn::Add(last, hn::Shuffle1032(last));
    return hn::GetLane(hn::Add(last, hn::Shuffle2301(last)));
  }
};

// Asks for the lines that hold `kCount` numbers. Past the end of memory it does no harm.
template <std::size_t kCount, class Number>
HWY_INLINE void fetch_lines(const Number* from) {
#pragma GCC unroll 8
  for (std::size_t i = 0; i < kCount; i += 64 / sizeof(Number)) hwy::Prefetch(from + i);
}

// The random words that round the residuals of a tile: 32 of them, again and again. From
// step to step they are new for every value, which is what makes the mean right.
class Dither {
 public:
  explicit Dither(std::uint32_t key) {
    const Draws draws(key);
    for (std::size_t j = 0; j < kDithers; j += kLanes) {
      words_[j / kLanes] = hn::And(draws.words(j), word(0xFFFF));
    }
  }
  // `at` is the place in the tile; a constant modulo 32 wherever loops are unrolled.
  HWY_INLINE VU at(std::size_t at) const { return words_[at % kDithers / kLanes]; }

 private:
  VU words_[kDithers / kLanes];
};

// How loops read and write the residual of some values.
struct NothingKept {
  static constexpr bool kAny = false;
  NothingKept(const Residual&, std::uint32_t) {}
  template <std::size_t kCount>
  HWY_INLINE void fetch(std::size_t) const {}
  HWY_INLINE VF load(std::size_t) const { return hn::Zero(F()); }
  HWY_INLINE void store(VF, std::size_t, std::size_t) const {}
};
class FloatsKept {
 public:
  static constexpr bool kAny = true;
  FloatsKept(const Residual& residual, std::uint32_t) : floats_(residual.exact) {}
  template <std::size_t kCount>
  HWY_INLINE void fetch(std::size_t at) const {
    fetch_lines<kCount>(floats_ + at);
  }
  HWY_INLINE VF load(std::size_t at) const { return hn::LoadU(F(), floats_ + at); }
  HWY_INLINE void store(VF x, std::size_t from, std::size_t at) const {
    hn::StoreU(x, F(), floats_ + from + at);
  }

 private:
  float* floats_;
};
class CompactKept {
 public:
  static constexpr bool kAny = true;
  CompactKept(const Residual& residual, std::uint32_t key)
      : compact_(residual.compact), dither_(key) {}
  template <std::size_t kCount>
  HWY_INLINE void fetch(std::size_t at) const {
    fetch_lines<kCount>(compact_ + at);
  }
  HWY_INLINE VF load(std::size_t at) const {
    const hn::Rebind<std::uint16_t, F> shorts;
    return real_of(hn::ShiftLeft<16>(hn::PromoteTo(U(), hn::LoadU(shorts, compact_ + at))));
  }
  // Of values from from + at on, where `from` is a multiple of 32.
  HWY_INLINE void store(VF x, std::size_t from, std::size_t at) const {
    const hn::Rebind<std::uint16_t, F> shorts;
    const VU bits = hn::Add(bits_of(x), dither_.at(at));
    hn::StoreU(hn::DemoteTo(shorts, hn::BitCast(I(), hn::ShiftRight<16>(bits))), shorts,
               compact_ + from + at);
  }

 private:
  std::uint16_t* compact_;
  Dither dither_;
};
struct NoStatistics {
  HWY_INLINE void add(VF, std::size_t) {}
};

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace weft::codec
HWY_AFTER_NAMESPACE();
