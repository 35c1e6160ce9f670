// How one value becomes a code and back, one type for each rule: what dense_kernels.cc is made of.
// Included there only, once for each set of instructions.

#include "codec/vector_runs.h"

// Highway includes the file again for each set and defines HWY_ONCE as true for the last.
#if HWY_ONCE
#pragma once
#endif

#include <algorithm>

#include "codec/dense_kernels.h"

HWY_BEFORE_NAMESPACE();
namespace weft::codec {
namespace HWY_NAMESPACE {
namespace {

inline constexpr std::uint32_t kInfinityBits = 0x7F800000;

// A quantiser without scales: every value for itself. Format stores kLanes values in kBytes each,
// gives back what decoding will give, and loads them.
template <class Format>
class Plain {
 public:
  using Statistics = NoStatistics;
  static constexpr std::size_t kUnit = kRun, kUnitBytes = kRun * Format::kBytes;

  explicit Plain(const float*) {}
  bool finite(const DenseRule&) const { return seen_.bits() < kInfinityBits; }
  static void write_scales(const DenseRule&, const MostBits&, const Statistics&, std::size_t,
                           float*) {}

  template <class Kept>
  HWY_INLINE void encode(const float* values, std::uint32_t, const Kept& kept, std::size_t from,
                         std::uint8_t* codes) const {
#pragma GCC unroll 8
    for (std::size_t j = 0; j < kRun; j += kLanes) {
      const VF x = hn::LoadU(F(), values + j);
      const VF sent = Format::store(x, codes + j * Format::kBytes);
      if constexpr (Kept::kAny) kept.store(hn::Sub(x, sent), from, j);
    }
  }
  HWY_INLINE void decode(const std::uint8_t* codes, float* out) {
#pragma GCC unroll 8
    for (std::size_t j = 0; j < kRun; j += kLanes) {
      const VF x = Format::load(codes + j * Format::kBytes);
      seen_.add(x);
      hn::StoreU(x, F(), out + j);
    }
  }

 private:
  MostBits seen_;
};

struct Float32Format {
  static constexpr std::size_t kBytes = 4;
  static HWY_INLINE VF store(VF x, std::uint8_t* to) {
    const hn::Repartition<std::uint8_t, F> bytes;
    hn::StoreU(hn::BitCast(bytes, x), bytes, to);
    return x;
  }
  static HWY_INLINE VF load(const std::uint8_t* from) {
    const hn::Repartition<std::uint8_t, F> bytes;
    return hn::BitCast(F(), hn::LoadU(bytes, from));
  }
};

using Shorts = hn::Rebind<std::uint16_t, F>;

HWY_INLINE void store_shorts(VU x, std::uint8_t* to) {
  const hn::Repartition<std::uint8_t, Shorts> bytes;
  hn::StoreU(hn::BitCast(bytes, hn::DemoteTo(Shorts(), hn::BitCast(I(), x))), bytes, to);
}
HWY_INLINE VU load_shorts(const std::uint8_t* from) {
  const hn::Repartition<std::uint8_t, Shorts> bytes;
  return hn::PromoteTo(U(), hn::BitCast(Shorts(), hn::LoadU(bytes, from)));
}

// Rounds to nearest, ties to even; what would become infinite is above the limit.
struct Bfloat16Format {
  static constexpr std::size_t kBytes = 2;
  static HWY_INLINE VF store(VF x, std::uint8_t* to) {
    const VU bits = bits_of(x);
    const VU tie = hn::And(hn::ShiftRight<16>(bits), word(1));
    const VU code = hn::ShiftRight<16>(hn::Add(bits, hn::Add(tie, word(0x7FFF))));
    store_shorts(code, to);
    return real_of(hn::ShiftLeft<16>(code));
  }
  static HWY_INLINE VF load(const std::uint8_t* from) {
    return real_of(hn::ShiftLeft<16>(load_shorts(from)));
  }
};

struct Float16Format {
  static constexpr std::size_t kBytes = 2;
#if HWY_TARGET == HWY_AVX2
  using Halves = hn::Rebind<hwy::float16_t, F>;
  static HWY_INLINE VF store(VF x, std::uint8_t* to) {
    const hn::Repartition<std::uint8_t, Shorts> bytes;
    const auto half = hn::DemoteTo(Halves(), x);
    hn::StoreU(hn::BitCast(bytes, hn::BitCast(Shorts(), half)), bytes, to);
    return hn::PromoteTo(F(), half);
  }
  static HWY_INLINE VF load(const std::uint8_t* from) {
    const hn::Repartition<std::uint8_t, Shorts> bytes;
    return hn::PromoteTo(F(), hn::BitCast(Halves(), hn::BitCast(Shorts(), hn::LoadU(bytes, from))));
  }
#else
  static HWY_INLINE VF store(VF x, std::uint8_t* to) {
    const VU size = size_bits(x), sign = hn::Xor(bits_of(x), size);
    const VU tie = hn::And(hn::ShiftRight<13>(size), word(1));
    const VU normal = hn::ShiftRight<13>(hn::Add(size, hn::Add(tie, word(0xFFF - (112U << 23)))));
    // The last bit of 0.5 is worth as much as that of a denormal: the addition rounds.
    const VU denormal = hn::Sub(bits_of(hn::Add(real_of(size), real(0.5F))), word(0x3F000000));
    const VU code = hn::Or(hn::ShiftRight<16>(sign),
                           hn::IfThenElse(hn::Lt(size, word(0x38800000)), denormal, normal));
    store_shorts(code, to);
    return widen(code);
  }
  static HWY_INLINE VF load(const std::uint8_t* from) { return widen(load_shorts(from)); }
  static HWY_INLINE VF widen(VU code) {
    const VU sign = hn::ShiftLeft<16>(hn::And(code, word(0x8000)));
    const VU size = hn::And(code, word(0x7FFF));
    // Exponents differ by 112; multiplying also makes denormals normal.
    const VF scaled = hn::Mul(real_of(hn::ShiftLeft<13>(size)), real(0x1p112F));
    const VU top = hn::IfThenElseZero(hn::Gt(size, word(0x7BFF)), word(kInfinityBits));
    return real_of(hn::Or(sign, hn::Or(bits_of(scaled), top)));
  }
#endif
};

using Float32 = Plain<Float32Format>;
using Float16 = Plain<Float16Format>;
using Bfloat16 = Plain<Bfloat16Format>;

// Codes of 8, 4 or 2 bits in units of eight words: value i of a unit is in word i % 8, from bit
// i / 8 · kBits on. So vectors are packed by shifts alone, whatever their width.
template <std::uint32_t kBits>
struct Packed {
  static constexpr std::size_t kUnit = 256 / kBits, kUnitBytes = 32, kWords = 8;
  using Bytes = hn::Repartition<std::uint8_t, U>;

  // code(place in the unit) → VU below 2^kBits.
  template <class Code>
  static HWY_INLINE void store(std::uint8_t* to, const Code& code) {
#pragma GCC unroll 2
    for (std::size_t j = 0; j < kWords; j += kLanes) {
      VU packed = code(j);
#pragma GCC unroll 16
      for (std::size_t p = 1; p < kUnit / kWords; ++p) {
        const VU next = code(j + p * kWords);
        packed = hn::Or(packed, hn::ShiftLeftSame(next, static_cast<int>(p * kBits)));
      }
      hn::StoreU(hn::BitCast(Bytes(), packed), Bytes(), to + j * sizeof(std::uint32_t));
    }
  }
  // take(place in the unit, code as VU).
  template <class Take>
  static HWY_INLINE void load(const std::uint8_t* from, const Take& take) {
#pragma GCC unroll 2
    for (std::size_t j = 0; j < kWords; j += kLanes) {
      const VU packed = hn::BitCast(U(), hn::LoadU(Bytes(), from + j * sizeof(std::uint32_t)));
#pragma GCC unroll 16
      for (std::size_t p = 0; p < kUnit / kWords; ++p) {
        const VU shifted = hn::ShiftRightSame(packed, static_cast<int>(p * kBits));
        take(j + p * kWords, hn::And(shifted, word((1U << kBits) - 1)));
      }
    }
  }
};

// What the largest code stands for: the block's largest magnitude,
struct ByMost : NoStatistics {
  static float top(const DenseRule&, const MostBits& most, const ByMost&, std::size_t) {
    return std::bit_cast<float>(most.bits());
  }
};
// As an instruction: the library's function also looks after errno.
HWY_INLINE float root_of(float x) { return hn::GetLane(hn::Sqrt(real(x))); }

struct SumOfSquares : ColumnSum {
  HWY_INLINE void add(VF x, std::size_t at) { ColumnSum::add(hn::Mul(x, x), at); }
};
// or its 2-norm, as in QSGD's definition,
struct ByNorm : SumOfSquares {
  static float top(const DenseRule&, const MostBits&, const ByNorm& squares, std::size_t) {
    return root_of(squares.total());
  }
};
// or its largest magnitude, but no more than some standard deviations (TernGrad's clipping).
struct ByClip : SumOfSquares {
  static float top(const DenseRule& rule, const MostBits& most, const ByClip& squares,
                   std::size_t count) {
    const float largest = std::bit_cast<float>(most.bits());
    if (rule.clip == 0) return largest;
    return std::min(largest, rule.clip * root_of(squares.total() / static_cast<float>(count)));
  }
};

// Blocks of integers: scale = top / levels; code = v / scale, rounded, plus an offset that keeps it
// above zero.
template <std::uint32_t kBits, bool kRandom, class By>
class Integer {
 public:
  using Statistics = By;
  static constexpr std::size_t kUnit = Packed<kBits>::kUnit, kUnitBytes = 32;
  static constexpr std::int32_t kOffset = 1 << (kBits - 1);
  static constexpr float kLevels = static_cast<float>(kOffset - 1);

  explicit Integer(const float* scales)
      : scale_(scales[0]), inverse_(scales[0] == 0 ? 0 : 1 / scales[0]) {}
  bool finite(const DenseRule& rule) const { return scale_ >= 0 && scale_ < rule.limit; }
  static void write_scales(const DenseRule& rule, const MostBits& most,
                           const Statistics& statistics, std::size_t count, float* to) {
    const float top = By::top(rule, most, statistics, count);
    *to = top < kTiny ? 0 : top / kLevels;
  }

  template <class Kept>
  HWY_INLINE void encode(const float* values, std::uint32_t place, const Kept& kept,
                         std::size_t from, std::uint8_t* codes) const {
    const VF scale = real(scale_), inverse = real(inverse_);
    const Draws draws(place);
    Packed<kBits>::store(codes, [&](std::size_t at) HWY_ATTR {
      const VF x = hn::LoadU(F(), values + at);
      VF level = hn::Mul(x, inverse);
      if constexpr (kRandom && kBits == 2 && !Kept::kAny) {
        // The floor, cut to one of -1, 0, 1, in two comparisons, of which true is -1.
        const VF risen = hn::Add(level, draws.units(at));
        const VU up = bits_of(hn::VecFromMask(F(), hn::Ge(risen, real(1))));
        const VU down = bits_of(hn::VecFromMask(F(), hn::Lt(risen, hn::Zero(F()))));
        return hn::Add(hn::Sub(word(kOffset), up), down);
      }
      if constexpr (kRandom) {
        level = hn::Floor(hn::Add(level, draws.units(at)));
      } else {
        level = hn::Round(level);
      }
      level = hn::Max(hn::Min(level, real(kLevels)), real(-kLevels));
      if constexpr (Kept::kAny) {
        kept.store(hn::Sub(x, hn::Mul(level, scale)), from, at);
      }
      return hn::BitCast(U(), hn::ConvertTo(I(), hn::Add(level, real(kOffset))));
    });
  }
  HWY_INLINE void decode(const std::uint8_t* codes, float* out) const {
    const VF scale = real(scale_);
    Packed<kBits>::load(codes, [&](std::size_t at, VU code) HWY_ATTR {
      const VI level = hn::Sub(hn::BitCast(I(), code), hn::Set(I(), kOffset));
      hn::StoreU(hn::Mul(hn::ConvertTo(F(), level), scale), F(), out + at);
    });
  }

 private:
  float scale_, inverse_;
};

// What a quantiser is where nothing is clipped: the largest magnitude is then all that it has to
// know of a block.
template <class Q>
struct Unclipped {
  using Type = Q;
};
template <std::uint32_t kBits, bool kRandom>
struct Unclipped<Integer<kBits, kRandom, ByClip>> {
  using Type = Integer<kBits, kRandom, ByMost>;
};

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace weft::codec
HWY_AFTER_NAMESPACE();
