// Quantisers that work on the bits of floats: 8-bit floats, powers of two, signs. See quantisers.h.

#include "codec/quantisers.h"

// Highway includes the file again for each set and defines HWY_ONCE as true for the last.
#if HWY_ONCE
#pragma once
#endif

#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace weft::codec {
namespace HWY_NAMESPACE {
namespace {

// 8-bit floats (Micikevicius et al., "FP8 formats for deep learning", 2022): e4m3 has no infinity
// and reaches 448, e5m2 reaches 57344.
struct E4m3 {
  static constexpr int kMantissa = 3;
  static constexpr std::uint32_t kBias = 7, kMostCode = 0x7E;
  static constexpr float kMost = 448;
};
struct E5m2 {
  static constexpr int kMantissa = 2;
  static constexpr std::uint32_t kBias = 15, kMostCode = 0x7B;
  static constexpr float kMost = 57344;
};

// Blocks scaled so that the largest magnitude is the format's largest.
template <class Format>
class Float8 {
 public:
  using Statistics = NoStatistics;
  static constexpr std::size_t kUnit = Packed<8>::kUnit, kUnitBytes = 32;
  static constexpr int kDropped = 23 - Format::kMantissa;
  static constexpr std::uint32_t kRebias = 127 - Format::kBias;
  static constexpr std::uint32_t kLeastNormal = (kRebias + 1) << 23;
  // Its last bit is worth as much as that of a denormal code: an addition rounds.
  static constexpr std::uint32_t kDenormalRounder =
      (kRebias + 1 + static_cast<std::uint32_t>(kDropped)) << 23;

  explicit Float8(const float* scales)
      : most_(hn::Zero(U())), scale_(scales[0]), inverse_(scales[0] == 0 ? 0 : 1 / scales[0]) {}
  bool finite(const DenseRule& rule) const {
    return scale_ >= 0 && scale_ < rule.limit &&
           hn::GetLane(hn::MaxOfLanes(U(), most_)) <= Format::kMostCode;
  }
  static void write_scales(const DenseRule&, const MostBits& most, const Statistics&, std::size_t,
                           float* to) {
    const float top = std::bit_cast<float>(most.bits());
    *to = top < kTiny ? 0 : top / Format::kMost;
  }

  template <class Kept>
  HWY_INLINE void encode(const float* values, std::uint32_t, const Kept& kept, std::size_t from,
                         std::uint8_t* codes) const {
    Packed<8>::store(codes, [&](std::size_t at) HWY_ATTR {
      const VF x = hn::LoadU(F(), values + at);
      const VU code = code_of(hn::Mul(x, real(inverse_)));
      if constexpr (Kept::kAny) kept.store(hn::Sub(x, value_of(code)), from, at);
      return code;
    });
  }
  HWY_INLINE void decode(const std::uint8_t* codes, float* out) {
    Packed<8>::load(codes, [&](std::size_t at, VU code) HWY_ATTR {
      most_ = hn::Max(most_, hn::And(code, word(0x7F)));
      hn::StoreU(value_of(code), F(), out + at);
    });
  }

 private:
  static HWY_INLINE VU code_of(VF x) {
    const VU size = size_bits(x), sign = hn::Xor(bits_of(x), size);
    const VU tie = hn::And(hn::ShiftRight<kDropped>(size), word(1));
    const VU half = word((1U << (kDropped - 1)) - 1);
    const VU normal = hn::Sub(hn::ShiftRight<kDropped>(hn::Add(size, hn::Add(tie, half))),
                              word(kRebias << Format::kMantissa));
    const VU rounder = word(kDenormalRounder);
    const VU denormal = hn::Sub(bits_of(hn::Add(real_of(size), real_of(rounder))), rounder);
    return hn::Or(hn::ShiftRight<24>(sign),
                  hn::IfThenElse(hn::Lt(size, word(kLeastNormal)), denormal, normal));
  }
  HWY_INLINE VF value_of(VU code) const {
    const VU sign = hn::ShiftLeft<24>(hn::And(code, word(0x80)));
    const VF small = real_of(hn::ShiftLeft<kDropped>(hn::And(code, word(0x7F))));
    const VF size = hn::Mul(small, real(std::bit_cast<float>((127 + kRebias) << 23)));
    return real_of(hn::Or(bits_of(hn::Mul(size, real(scale_))), sign));
  }

  VU most_;
  float scale_, inverse_;
};

// Natural compression (Horváth et al. 2019): the nearest powers of two below and above, at random
// so that the mean is right, or the nearer one. Sign and seven bits of exponent, counted down from
// the block's largest; what is smaller by 2^126 or more is sent as 0.
template <bool kRandom>
class Natural {
 public:
  using Statistics = NoStatistics;
  static constexpr std::size_t kUnit = Packed<8>::kUnit, kUnitBytes = 32;

  // The scale is the power of two above the largest magnitude, which code 127 stands for.
  explicit Natural(const float* scales)
      : scale_(scales[0]),
        lowest_(static_cast<std::int32_t>(std::bit_cast<std::uint32_t>(scale_) >> 23 & 0xFF) -
                127) {}
  bool finite(const DenseRule& rule) const { return scale_ >= 0 && scale_ < rule.limit * 2; }
  static void write_scales(const DenseRule&, const MostBits& most, const Statistics&, std::size_t,
                           float* to) {
    *to = std::bit_cast<float>(((most.bits() >> 23) + 1) << 23);
  }

  template <class Kept>
  HWY_INLINE void encode(const float* values, std::uint32_t place, const Kept& kept,
                         std::size_t from, std::uint8_t* codes) const {
    const Draws draws(place);
    Packed<8>::store(codes, [&](std::size_t at) HWY_ATTR {
      const VF x = hn::LoadU(F(), values + at);
      const VU size = size_bits(x);
      VU rise = word(1U << 22);
      if constexpr (kRandom) rise = hn::ShiftRight<9>(draws.words(at));
      const VI exponent = hn::BitCast(I(), hn::ShiftRight<23>(hn::Add(size, rise)));
      const VI steps = hn::Sub(exponent, hn::Set(I(), lowest_));
      const VI code_steps =
          hn::IfThenZeroElse(hn::Eq(exponent, hn::Zero(I())), hn::Max(steps, hn::Zero(I())));
      const VU sign = hn::ShiftRight<24>(hn::Xor(bits_of(x), size));
      const VU code = hn::Or(hn::BitCast(U(), code_steps), sign);
      if constexpr (Kept::kAny) kept.store(hn::Sub(x, value_of(code)), from, at);
      return code;
    });
  }
  HWY_INLINE void decode(const std::uint8_t* codes, float* out) const {
    Packed<8>::load(codes, [&](std::size_t at, VU code)
                               HWY_ATTR { hn::StoreU(value_of(code), F(), out + at); });
  }

 private:
  HWY_INLINE VF value_of(VU code) const {
    const VI steps = hn::BitCast(I(), hn::And(code, word(0x7F)));
    const VI exponent = hn::Add(steps, hn::Set(I(), lowest_));
    const VI zero = hn::Zero(I());
    const auto none = hn::Or(hn::Eq(steps, zero), hn::Lt(exponent, zero));
    const VI size = hn::IfThenZeroElse(none, hn::ShiftLeft<23>(exponent));
    return real_of(hn::Or(hn::BitCast(U(), size), hn::ShiftLeft<24>(hn::And(code, word(0x80)))));
  }

  float scale_;
  std::int32_t lowest_;
};

// Bit i of a word is the sign of value i; a positive value stands for the first, a negative one for
// the second of two numbers.
template <class Two>
class Signs : public Two {
 public:
  static constexpr std::size_t kUnit = kRun, kUnitBytes = kRun / 8;
  explicit Signs(const float* scales) : Two(scales) {}

  template <class Kept>
  HWY_INLINE void encode(const float* values, std::uint32_t, const Kept& kept, std::size_t from,
                         std::uint8_t* codes) const {
    std::uint32_t signs = 0;
#pragma GCC unroll 8
    for (std::size_t j = 0; j < kRun; j += kLanes) {
      const VF x = hn::LoadU(F(), values + j);
      const auto negative =
          hn::MaskFromVec(hn::BitCast(F(), hn::BroadcastSignBit(hn::BitCast(I(), x))));
      std::uint8_t bits = 0;
      hn::StoreMaskBits(F(), negative, &bits);
      signs |= static_cast<std::uint32_t>(bits) << j;
      if constexpr (Kept::kAny) {
        const VF sent = hn::IfThenElse(negative, real(Two::negative_), real(Two::positive_));
        kept.store(hn::Sub(x, sent), from, j);
      }
    }
    std::memcpy(codes, &signs, sizeof signs);
  }
  HWY_INLINE void decode(const std::uint8_t* codes, float* out) const {
    std::uint32_t signs;
    std::memcpy(&signs, codes, sizeof signs);
    const VU lanes = hn::Shl(word(1), hn::Iota(U(), 0));
#pragma GCC unroll 8
    for (std::size_t j = 0; j < kRun; j += kLanes) {
      const auto negative = hn::RebindMask(F(), hn::TestBit(word(signs >> j), lanes));
      hn::StoreU(hn::IfThenElse(negative, real(Two::negative_), real(Two::positive_)), F(),
                 out + j);
    }
  }
};

// signSGD (Bernstein et al. 2018): no scale, the sum of signs is a vote.
struct Units {
  using Statistics = NoStatistics;
  static constexpr float positive_ = 1, negative_ = -1;
  explicit Units(const float*) {}
  bool finite(const DenseRule&) const { return true; }
  static void write_scales(const DenseRule&, const MostBits&, const Statistics&, std::size_t,
                           float*) {}
};

// EF-signSGD (Karimireddy et al. 2019): plus or minus the mean magnitude.
struct Mean {
  struct Statistics : ColumnSum {
    HWY_INLINE void add(VF x, std::size_t at) { ColumnSum::add(hn::Abs(x), at); }
  };
  explicit Mean(const float* scales) : positive_(scales[0]), negative_(-scales[0]) {}
  bool finite(const DenseRule& rule) const { return positive_ >= 0 && positive_ < rule.limit; }
  static void write_scales(const DenseRule&, const MostBits&, const Statistics& sizes,
                           std::size_t count, float* to) {
    *to = sizes.total() / static_cast<float>(count);
  }
  float positive_, negative_;
};

// 1-bit SGD (Seide et al. 2014): the mean of what is positive and the mean of what is negative.
struct TwoMeans {
  struct Statistics {
    ColumnSum positive, negative, negatives;
    HWY_INLINE void add(VF x, std::size_t at) {
      const auto below =
          hn::MaskFromVec(hn::BitCast(F(), hn::BroadcastSignBit(hn::BitCast(I(), x))));
      positive.add(hn::IfThenZeroElse(below, x), at);
      negative.add(hn::IfThenElseZero(below, x), at);
      negatives.add(hn::IfThenElseZero(below, real(1)), at);
    }
  };
  explicit TwoMeans(const float* scales) : positive_(scales[0]), negative_(scales[1]) {}
  bool finite(const DenseRule& rule) const {
    return positive_ >= 0 && positive_ < rule.limit && negative_ <= 0 && -negative_ < rule.limit;
  }
  static void write_scales(const DenseRule&, const MostBits&, const Statistics& statistics,
                           std::size_t count, float* to) {
    const float negatives = statistics.negatives.total();
    const float positives = static_cast<float>(count) - negatives;
    to[0] = positives > 0 ? statistics.positive.total() / positives : 0;
    to[1] = negatives > 0 ? statistics.negative.total() / negatives : 0;
  }
  float positive_, negative_;
};

using Sign = Signs<Units>;
using ScaledSign = Signs<Mean>;
using OneBit = Signs<TwoMeans>;

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace weft::codec
HWY_AFTER_NAMESPACE();
