#include "codec/dense_kernels.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/vector_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "codec/dense_kernels.cc"
#include <hwy/foreach_target.h>

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include "codec/quantisers.h"

HWY_BEFORE_NAMESPACE();
namespace weft::codec {
namespace HWY_NAMESPACE {
namespace {

// v = values + residual, its statistics, then codes and what they leave: the second loop finds v in
// the nearest cache.
template <class Q, bool kFeedback>
bool encode_tile(const DenseRule& rule, const DenseTile& tile, float* scales, std::uint8_t* codes) {
  alignas(64) float sum[kTile];
  for (std::size_t at = 0; at < tile.padded; at += rule.block) {
    const std::size_t end = std::min<std::size_t>(at + rule.block, tile.padded);
    typename Q::Statistics statistics;
    for (std::size_t i = at; i < end; i += kRun) {
#pragma GCC unroll 8
      for (std::size_t j = 0; j < kRun; j += kLanes) {
        VF x = hn::LoadU(F(), tile.values + i + j);
        if constexpr (kFeedback) x = hn::Add(x, hn::LoadU(F(), tile.residual + i + j));
        hn::Store(x, F(), sum + i + j);
        statistics.add(x, j);
      }
    }
    Q q(rule, tile, statistics, std::min(end, tile.count) - at);
    if (!q.good()) return false;
    q.write_scales(scales);
    scales += rule.scales;
    for (std::size_t i = at; i < end; i += kRun) {
      q.template encode<kFeedback>(sum + i, static_cast<std::uint32_t>(i), tile.residual + i,
                                   codes + i / kRun * Q::kRunBytes);
    }
  }
  return true;
}

template <class Q>
bool encode(const DenseRule& rule, const DenseTile& tile, float* scales, std::uint8_t* codes) {
  return tile.residual != nullptr ? encode_tile<Q, true>(rule, tile, scales, codes)
                                  : encode_tile<Q, false>(rule, tile, scales, codes);
}

template <class Q>
bool decode(const DenseRule& rule, const float* scales, const std::uint8_t* codes,
            std::size_t padded, float* out) {
  bool good = true;
  for (std::size_t at = 0; at < padded; at += rule.block, scales += rule.scales) {
    const std::size_t end = std::min<std::size_t>(at + rule.block, padded);
    Q q(rule, scales);
    for (std::size_t i = at; i < end; i += kRun) {
      q.decode(codes + i / kRun * Q::kRunBytes, out + i);
    }
    good = good && q.finite();
  }
  return good;
}

void add(const float* values, std::size_t count, float* out) {
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    hn::StoreU(hn::Add(hn::LoadU(F(), out + i), hn::LoadU(F(), values + i)), F(), out + i);
  }
  for (; i < count; ++i) out[i] += values[i];
}

void stream(const std::uint8_t* from, std::size_t bytes, std::uint8_t* to) {
  constexpr std::size_t kLine = 64;
  const hn::ScalableTag<std::uint8_t> d;
  std::size_t at = std::min<std::size_t>(-reinterpret_cast<std::uintptr_t>(to) % kLine, bytes);
  std::memcpy(to, from, at);
  for (; at + kLine <= bytes; at += kLine) {
    for (std::size_t in = 0; in < kLine; in += hn::MaxLanes(d)) {
      hn::Stream(hn::LoadU(d, from + at + in), d, to + at + in);
    }
  }
  std::memcpy(to + at, from + at, bytes - at);
}

template <std::uint32_t kBits>
using Nearest = Integer<kBits, false>;
template <std::uint32_t kBits>
using Random = Integer<kBits, true>;

constexpr DenseKernels kKernels = {
    {&encode<Float32>, &encode<Float16>, &encode<Bfloat16>, &encode<Nearest<8>>, &encode<Random<8>>,
     &encode<Nearest<4>>, &encode<Random<4>>},
    {&decode<Float32>, &decode<Float16>, &decode<Bfloat16>, &decode<Nearest<8>>, &decode<Random<8>>,
     &decode<Nearest<4>>, &decode<Random<4>>},
    &add,
    &stream,
    &hwy::FlushStream};

}  // namespace

const DenseKernels* kernels() { return &kKernels; }

}  // namespace HWY_NAMESPACE
}  // namespace weft::codec
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft::codec {
namespace {
HWY_EXPORT(kernels);
}  // namespace

const DenseKernels& dense_kernels() { return *HWY_DYNAMIC_DISPATCH(kernels)(); }

}  // namespace weft::codec
#endif
