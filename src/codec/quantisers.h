// How one value becomes a code and back, one type for each rule: what dense_kernels.cc is made of.
// Included there only, once for each set of instructions.

#include "codec/vector_runs.h"

#if HWY_ONCE
#pragma once
#endif

#include "codec/dense_kernels.h"

HWY_BEFORE_NAMESPACE();
namespace weft::codec {
namespace HWY_NAMESPACE {
namespace {

// Bits of the least magnitude that is refused.
inline constexpr std::uint32_t kInfinity = 0x7F800000;

// A quantiser without scales: every value for itself. Format gives encode(VF) → VF, the value that
// decoding will give, and stores and loads kLanes codes of kBytes.
template <class Format>
class Plain : public Format {
 public:
  using Statistics = MostBits;
  static constexpr std::size_t kRunBytes = kRun * Format::kBytes;

  Plain(const DenseRule&, const DenseTile&, const Statistics& statistics, std::size_t)
      : most_(statistics.bits()) {}
  Plain(const DenseRule&, const float*) {}
  bool good() const { return most_ < Format::kLimit; }
  bool finite() const { return seen_.bits() < kInfinity; }
  void write_scales(float*) const {}

  template <bool kFeedback>
  HWY_INLINE void encode(const float* values, std::uint32_t, float* residual,
                         std::uint8_t* codes) const {
#pragma GCC unroll 8
    for (std::size_t j = 0; j < kRun; j += kLanes) {
      const VF x = hn::Load(F(), values + j);
      const VF sent = Format::store(x, codes + j * Format::kBytes);
      if constexpr (kFeedback) hn::StoreU(hn::Sub(x, sent), F(), residual + j);
    }
  }
  HWY_INLINE void decode(const std::uint8_t* codes, float* out) {
#pragma GCC unroll 8
    for (std::size_t j = 0; j < kRun; j += kLanes) {
      const VF x = Format::load(codes + j * Format::kBytes);
      seen_.add(x, j);
      hn::StoreU(x, F(), out + j);
    }
  }

 private:
  std::uint32_t most_ = 0;
  MostBits seen_;
};

struct Float32Format {
  static constexpr std::size_t kBytes = 4;
  static constexpr std::uint32_t kLimit = kInfinity;
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

// Rounds to nearest, ties to even; what would become infinite is refused.
struct Bfloat16Format {
  static constexpr std::size_t kBytes = 2;
  static constexpr std::uint32_t kLimit = 0x7F7F8000;
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
  static constexpr std::uint32_t kLimit = 0x477FF000;  // 65520 would round to infinity
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
    const VU top = hn::IfThenElseZero(hn::Gt(size, word(0x7BFF)), word(kInfinity));
    return real_of(hn::Or(sign, hn::Or(bits_of(scaled), top)));
  }
#endif
};

using Float32 = Plain<Float32Format>;
using Float16 = Plain<Float16Format>;
using Bfloat16 = Plain<Bfloat16Format>;

// Codes of 8, 4 or 2 bits: byte j of a run takes the values j, j + kGroup, j + 2 kGroup, …
template <std::uint32_t kBits>
struct Packed {
  static constexpr std::size_t kRunBytes = kRun * kBits / 8, kGroup = kRunBytes;
  using Codes = hn::Rebind<std::uint8_t, I>;

  // code(place in the run) → VU below 2^kBits.
  template <class Code>
  static HWY_INLINE void store(std::uint8_t* to, const Code& code) {
#pragma GCC unroll 8
    for (std::size_t j = 0; j < kGroup; j += kLanes) {
      VU packed = code(j);
#pragma GCC unroll 4
      for (std::size_t p = 1; p < kRun / kGroup; ++p) {
        packed =
            hn::Or(packed, hn::ShiftLeftSame(code(j + p * kGroup), static_cast<int>(p * kBits)));
      }
      hn::StoreU(hn::DemoteTo(Codes(), hn::BitCast(I(), packed)), Codes(), to + j);
    }
  }
  // take(place in the run, code as VU).
  template <class Take>
  static HWY_INLINE void load(const std::uint8_t* from, const Take& take) {
#pragma GCC unroll 8
    for (std::size_t j = 0; j < kGroup; j += kLanes) {
      const VU packed = hn::PromoteTo(U(), hn::LoadU(Codes(), from + j));
#pragma GCC unroll 4
      for (std::size_t p = 0; p < kRun / kGroup; ++p) {
        take(j + p * kGroup, hn::And(hn::ShiftRightSame(packed, static_cast<int>(p * kBits)),
                                     word((1U << kBits) - 1)));
      }
    }
  }
};

// Blocks of integers: scale = largest magnitude / levels, code = v / scale, rounded, plus an offset
// that keeps it above zero. A block below kTiny counts as zeros: its inverse scale would overflow.
template <std::uint32_t kBits, bool kRandom>
class Integer {
 public:
  using Statistics = MostBits;
  static constexpr std::size_t kRunBytes = Packed<kBits>::kRunBytes;
  static constexpr float kLevels = static_cast<float>((1 << (kBits - 1)) - 1);
  static constexpr std::int32_t kOffset = 1 << (kBits - 1);

  Integer(const DenseRule&, const DenseTile& tile, const Statistics& statistics, std::size_t)
      : key_(tile.key + tile.first) {
    most_ = std::bit_cast<float>(statistics.bits());
    const bool zero = most_ < kTiny;
    scale_ = zero ? 0 : most_ / kLevels;
    inverse_ = zero ? 0 : kLevels / most_;
  }
  Integer(const DenseRule&, const float* scales) : scale_(scales[0]) {}
  bool good() const { return most_ < kHuge; }
  bool finite() const { return std::abs(scale_) < kHuge / kLevels; }
  void write_scales(float* to) const { *to = scale_; }

  template <bool kFeedback>
  HWY_INLINE void encode(const float* values, std::uint32_t index, float* residual,
                         std::uint8_t* codes) const {
    Packed<kBits>::store(codes, [&](std::size_t at) HWY_ATTR {
      const VF x = hn::Load(F(), values + at), scaled = hn::Mul(x, real(inverse_));
      VI code;
      if constexpr (kRandom) {
        const VF raised = hn::Add(scaled, draw_units(key_, index + static_cast<std::uint32_t>(at)));
        code = hn::ConvertTo(I(), hn::Min(hn::Floor(raised), real(kLevels)));
      } else {
        code = hn::NearestInt(scaled);
      }
      if constexpr (kFeedback) {
        const VF sent = hn::Mul(hn::ConvertTo(F(), code), real(scale_));
        hn::StoreU(hn::Sub(x, sent), F(), residual + at);
      }
      return hn::BitCast(U(), hn::Add(code, hn::Set(I(), kOffset)));
    });
  }
  HWY_INLINE void decode(const std::uint8_t* codes, float* out) const {
    Packed<kBits>::load(codes, [&](std::size_t at, VU code) HWY_ATTR {
      const VI level = hn::Sub(hn::BitCast(I(), code), hn::Set(I(), kOffset));
      hn::StoreU(hn::Mul(hn::ConvertTo(F(), level), real(scale_)), F(), out + at);
    });
  }

 private:
  std::uint32_t key_ = 0;
  float most_ = 0, scale_ = 0, inverse_ = 0;
};

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace weft::codec
HWY_AFTER_NAMESPACE();
