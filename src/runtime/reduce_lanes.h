// How elements are held in vectors while one computes with them: the part of reduce.cc that knows
// the number formats. Compiled once for each set of instructions, like reduce.cc, so it is included
// there between hwy/foreach_target.h and the first namespace, and nowhere else.

#include "base/vector_targets.h"

#include <hwy/highway.h>

// Highway includes the file again for each set and defines HWY_ONCE as true for the last.
#if HWY_ONCE
#pragma once
#endif

#include <cstddef>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace weft::runtime {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Loads and stores go through vectors of bytes, so that no pointer claims an alignment it has not.
template <class D>
HWY_INLINE hn::Vec<D> load_vector(D d, const std::byte* from) {
  const hn::Repartition<std::uint8_t, D> bytes;
  return hn::BitCast(d, hn::LoadU(bytes, reinterpret_cast<const std::uint8_t*>(from)));
}

template <class D>
HWY_INLINE void store_vector(D d, hn::Vec<D> value, std::byte* to) {
  const hn::Repartition<std::uint8_t, D> bytes;
  (void)d;
  hn::StoreU(hn::BitCast(bytes, value), bytes, reinterpret_cast<std::uint8_t*>(to));
}

struct Sum {
  template <class V>
  static HWY_INLINE V of(V a, V b) {
    return hn::Add(a, b);
  }
};

struct Min {
  template <class V>
  static HWY_INLINE V of(V a, V b) {
    if constexpr (hwy::IsFloat<hn::TFromV<V>>()) {
      return hn::IfThenElse(hn::Or(hn::Lt(b, a), hn::IsNaN(b)), b, a);
    } else {
      return hn::Min(a, b);
    }
  }
};

struct Max {
  template <class V>
  static HWY_INLINE V of(V a, V b) {
    if constexpr (hwy::IsFloat<hn::TFromV<V>>()) {
      return hn::IfThenElse(hn::Or(hn::Gt(b, a), hn::IsNaN(b)), b, a);
    } else {
      return hn::Max(a, b);
    }
  }
};

// "Lanes" say how a run of elements is held while one computes with it: load, store, apply and, for
// floats, divide. bytes() is the length of the run in memory.

// Elements that are computed in their own type.
template <typename T>
struct Plain {
  using D = hn::ScalableTag<T>;
  using Pack = hn::Vec<D>;
  static HWY_INLINE std::size_t bytes() { return hn::Lanes(D()) * sizeof(T); }
  static HWY_INLINE Pack load(const std::byte* from) { return load_vector(D(), from); }
  static HWY_INLINE void store(Pack value, std::byte* to) { store_vector(D(), value, to); }
  template <class Op>
  static HWY_INLINE Pack apply(Pack a, Pack b) {
    return Op::of(a, b);
  }
  static HWY_INLINE Pack divide(Pack a, std::uint32_t divisor) {
    return hn::Div(a, hn::Set(D(), static_cast<T>(divisor)));
  }
};

using Floats = hn::ScalableTag<float>;
using FloatBits = hn::RebindToUnsigned<Floats>;

// bfloat16, the upper half of a float32: neighbours share a word, so the even and the odd ones of a
// vector become two vectors of float32 without any shuffle.
struct Brain {
  struct Pack {
    hn::Vec<Floats> even, odd;
  };
  static HWY_INLINE std::size_t bytes() { return hn::Lanes(Floats()) * sizeof(float); }
  static HWY_INLINE Pack load(const std::byte* from) {
    const FloatBits bits;
    const auto words = load_vector(bits, from);
    return {hn::BitCast(Floats(), hn::ShiftLeft<16>(words)),
            hn::BitCast(Floats(), hn::And(words, hn::Set(bits, 0xFFFF0000U)))};
  }
  static HWY_INLINE void store(Pack value, std::byte* to) {
    const auto even = hn::ShiftRight<16>(rounded(value.even));
    const auto odd = hn::And(rounded(value.odd), hn::Set(FloatBits(), 0xFFFF0000U));
    store_vector(FloatBits(), hn::Or(even, odd), to);
  }
  template <class Op>
  static HWY_INLINE Pack apply(Pack a, Pack b) {
    return {Op::of(a.even, b.even), Op::of(a.odd, b.odd)};
  }
  static HWY_INLINE Pack divide(Pack a, std::uint32_t divisor) {
    const auto by = hn::Set(Floats(), static_cast<float>(divisor));
    return {hn::Div(a.even, by), hn::Div(a.odd, by)};
  }

 private:
  // The upper half of each word is the result. NaNs need no care: one that came from a bfloat16 or
  // that the processor made has nothing in the lower half, so nothing carries into the upper.
  static HWY_INLINE hn::Vec<FloatBits> rounded(hn::Vec<Floats> value) {
    const FloatBits d;
    const auto bits = hn::BitCast(d, value);
    const auto tie = hn::And(hn::ShiftRight<16>(bits), hn::Set(d, 1U));
    return hn::Add(bits, hn::Add(tie, hn::Set(d, 0x7FFFU)));
  }
};

// float16, converted by the processor where all processors of the set can, else by arithmetic.
struct Half : Plain<float> {
  using Shorts = hn::Rebind<std::uint16_t, Floats>;
  static HWY_INLINE std::size_t bytes() { return hn::Lanes(Floats()) * 2; }
#if HWY_TARGET == HWY_AVX2
  using Halves = hn::Rebind<hwy::float16_t, Floats>;
  static HWY_INLINE Pack load(const std::byte* from) {
    return hn::PromoteTo(Floats(), hn::BitCast(Halves(), load_vector(Shorts(), from)));
  }
  static HWY_INLINE void store(Pack value, std::byte* to) {
    store_vector(Shorts(), hn::BitCast(Shorts(), hn::DemoteTo(Halves(), value)), to);
  }
#else
  static HWY_INLINE Pack load(const std::byte* from) {
    const FloatBits d;
    const auto bits = hn::PromoteTo(d, load_vector(Shorts(), from));
    const auto sign = hn::ShiftLeft<16>(hn::And(bits, hn::Set(d, 0x8000U)));
    const auto size = hn::And(bits, hn::Set(d, 0x7FFFU));
    // Exponents differ by 112; multiplying also turns denormals into normal numbers.
    const auto scaled = hn::BitCast(
        d, hn::Mul(hn::BitCast(Floats(), hn::ShiftLeft<13>(size)), hn::Set(Floats(), 0x1p112F)));
    const auto endless = hn::Gt(size, hn::Set(d, 0x7BFFU));  // infinity and NaN
    const auto top = hn::IfThenElseZero(endless, hn::Set(d, 0x7F800000U));
    return hn::BitCast(Floats(), hn::Or(sign, hn::Or(scaled, top)));
  }
  static HWY_INLINE void store(Pack value, std::byte* to) {
    const FloatBits d;
    const auto bits = hn::BitCast(d, value);
    const auto sign = hn::And(bits, hn::Set(d, 0x80000000U));
    const auto size = hn::Xor(bits, sign);
    // Rounds at bit 13 and shifts the exponent by 112; what is too large becomes infinity.
    const auto tie = hn::And(hn::ShiftRight<13>(size), hn::Set(d, 1U));
    const auto rounded = hn::Add(size, hn::Add(tie, hn::Set(d, 0xFFFU - (112U << 23))));
    const auto normal = hn::Min(hn::ShiftRight<13>(rounded), hn::Set(d, 0x7C00U));
    // The last bit of 0.5F is worth as much as that of a denormal: the addition rounds.
    const auto half = hn::Set(Floats(), 0.5F);
    const auto denormal =
        hn::Sub(hn::BitCast(d, hn::Add(hn::BitCast(Floats(), size), half)), hn::BitCast(d, half));
    const auto small = hn::Lt(size, hn::Set(d, 0x38800000U));
    const auto nan = hn::RebindMask(d, hn::IsNaN(value));
    const auto finite = hn::IfThenElse(small, denormal, normal);
    const auto result =
        hn::Or(hn::ShiftRight<16>(sign), hn::IfThenElse(nan, hn::Set(d, 0x7E00U), finite));
    const hn::RebindToSigned<FloatBits> as_signed;
    store_vector(Shorts(), hn::DemoteTo(Shorts(), hn::BitCast(as_signed, result)), to);
  }
#endif
};

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace weft::runtime
HWY_AFTER_NAMESPACE();
