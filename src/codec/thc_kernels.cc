#include "codec/thc_kernels.h"

#include <cmath>

#include "base/vector_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "codec/thc_kernels.cc"
#include <hwy/foreach_target.h>

#include <hwy/highway.h>

#include "codec/vector_runs.h"

HWY_BEFORE_NAMESPACE();
namespace weft::codec {
namespace HWY_NAMESPACE {
namespace {

static_assert(kLanes == 4 || kLanes == 8);
constexpr std::size_t kSame = 8;  // values that one Draws serves here; count is a multiple

// Signs of the values from `at` on.
HWY_INLINE VU signs(std::uint32_t key, std::size_t at, std::size_t lane) {
  return hn::And(Draws(key + static_cast<std::uint32_t>(at)).words(lane), word(0x80000000));
}

// Sums where the lane's number lacks `bit`, differences where it has it: one stage of butterflies.
HWY_INLINE VF butterflies(VF x, VF other, std::uint32_t bit) {
  const auto second = hn::RebindMask(F(), hn::TestBit(hn::Iota(U(), 0), word(bit)));
  return hn::IfThenElse(second, hn::Sub(other, x), hn::Add(x, other));
}

// The stages within a vector.
HWY_INLINE VF inner_stages(VF x) {
  x = butterflies(x, hn::Shuffle2301(x), 1);
  x = butterflies(x, hn::Shuffle1032(x), 2);
  if constexpr (kLanes == 8) x = butterflies(x, hn::ConcatLowerUpper(F(), x, x), 4);
  return x;
}

// Stages of `half` and of twice that at a time: half as many passes over the block.
HWY_INLINE void two_stages(float* values, std::size_t count, std::size_t half) {
  for (std::size_t i = 0; i < count; i += 4 * half) {
    for (std::size_t j = i; j < i + half; j += kLanes) {
      float* at[4] = {values + j, values + j + half, values + j + 2 * half, values + j + 3 * half};
      const VF a = hn::LoadU(F(), at[0]), b = hn::LoadU(F(), at[1]);
      const VF c = hn::LoadU(F(), at[2]), d = hn::LoadU(F(), at[3]);
      const VF sum1 = hn::Add(a, b), less1 = hn::Sub(a, b);
      const VF sum2 = hn::Add(c, d), less2 = hn::Sub(c, d);
      hn::StoreU(hn::Add(sum1, sum2), F(), at[0]);
      hn::StoreU(hn::Add(less1, less2), F(), at[1]);
      hn::StoreU(hn::Sub(sum1, sum2), F(), at[2]);
      hn::StoreU(hn::Sub(less1, less2), F(), at[3]);
    }
  }
}

HWY_INLINE void outer_stages(float* values, std::size_t count) {
  std::size_t half = kLanes;
  for (; half * 2 < count; half *= 4) two_stages(values, count, half);
  if (half >= count) return;
  for (std::size_t j = 0; j < half; j += kLanes) {
    const VF a = hn::LoadU(F(), values + j), b = hn::LoadU(F(), values + j + half);
    hn::StoreU(hn::Add(a, b), F(), values + j);
    hn::StoreU(hn::Sub(a, b), F(), values + j + half);
  }
}

void rotate(float* values, std::size_t count, std::uint32_t key) {
  for (std::size_t i = 0; i < count; i += kSame) {
    for (std::size_t j = 0; j < kSame; j += kLanes) {
      const VF x = real_of(hn::Xor(bits_of(hn::LoadU(F(), values + i + j)), signs(key, i, j)));
      hn::StoreU(inner_stages(x), F(), values + i + j);
    }
  }
  outer_stages(values, count);
  const VF scale = real(1 / std::sqrt(static_cast<float>(count)));
  for (std::size_t i = 0; i < count; i += kLanes) {
    hn::StoreU(hn::Mul(hn::LoadU(F(), values + i), scale), F(), values + i);
  }
}

void rotate_back(float* values, std::size_t count, std::uint32_t key) {
  for (std::size_t i = 0; i < count; i += kLanes) {
    hn::StoreU(inner_stages(hn::LoadU(F(), values + i)), F(), values + i);
  }
  outer_stages(values, count);
  const VF scale = real(1 / std::sqrt(static_cast<float>(count)));
  for (std::size_t i = 0; i < count; i += kSame) {
    for (std::size_t j = 0; j < kSame; j += kLanes) {
      const VF x = hn::Mul(hn::LoadU(F(), values + i + j), scale);
      hn::StoreU(real_of(hn::Xor(bits_of(x), signs(key, i, j))), F(), values + i + j);
    }
  }
}

float largest(const float* values, std::size_t count) {
  MostBits most;
  for (std::size_t i = 0; i < count; i += kLanes) most.add(hn::LoadU(F(), values + i));
  return std::bit_cast<float>(most.bits());
}

using Codes = hn::Rebind<std::uint8_t, F>;

HWY_INLINE VF meaning(const ThcGrid& grid, VF code, VF ranks) {
  const VF place = hn::Div(hn::Mul(real(2), code), real(grid.levels));
  return hn::Mul(hn::Sub(place, ranks), real(grid.top));
}

template <bool kRandom>
void quantise_block(const ThcGrid& grid, float* values, std::size_t count, std::uint32_t key,
                    std::uint8_t* codes) {
  const float inverse = grid.top > 0x1p-100F ? grid.levels / (2 * grid.top) : 0;
  for (std::size_t i = 0; i < count; i += kSame) {
    const Draws draws(key + static_cast<std::uint32_t>(i));
    for (std::size_t j = 0; j < kSame; j += kLanes) {
      const VF x = hn::LoadU(F(), values + i + j);
      const VF rise = kRandom ? draws.units(j) : real(0.5F);
      const VF level = hn::Floor(hn::Add(hn::Mul(hn::Add(x, real(grid.top)), real(inverse)), rise));
      const VF code = hn::Min(hn::Max(level, real(0)), real(grid.levels));
      hn::StoreU(hn::DemoteTo(Codes(), hn::ConvertTo(I(), code)), Codes(), codes + i + j);
      hn::StoreU(meaning(grid, code, real(1)), F(), values + i + j);
    }
  }
}

void quantise(const ThcGrid& grid, float* values, std::size_t count, std::uint32_t key, bool random,
              std::uint8_t* codes) {
  if (random) return quantise_block<true>(grid, values, count, key, codes);
  return quantise_block<false>(grid, values, count, key, codes);
}

void expand(const ThcGrid& grid, const std::uint8_t* codes, std::size_t count, float ranks,
            float* out) {
  for (std::size_t i = 0; i < count; i += kLanes) {
    const VI code = hn::PromoteTo(I(), hn::LoadU(Codes(), codes + i));
    hn::StoreU(meaning(grid, hn::ConvertTo(F(), code), real(ranks)), F(), out + i);
  }
}

constexpr ThcKernels kKernels = {&rotate, &rotate_back, &largest, &quantise, &expand};

}  // namespace

const ThcKernels* kernels_for_thc() { return &kKernels; }

}  // namespace HWY_NAMESPACE
}  // namespace weft::codec
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft::codec {
namespace {
HWY_EXPORT(kernels_for_thc);
}  // namespace

const ThcKernels& thc_kernels() { return *HWY_DYNAMIC_DISPATCH(kernels_for_thc)(); }

}  // namespace weft::codec
#endif
