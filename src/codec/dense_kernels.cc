#include "codec/dense_kernels.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "base/vector_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "codec/dense_kernels.cc"
#include <hwy/foreach_target.h>

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include "codec/bit_quantisers.h"

HWY_BEFORE_NAMESPACE();
namespace weft::codec {
namespace HWY_NAMESPACE {
namespace {

// v = values + residual with its statistics, then codes and what they leave: the second loop finds
// v in the nearest cache.
template <class Q, class Kept>
bool encode_tile(const DenseRule& rule, const DenseTile& tile, float* scales, std::uint8_t* codes) {
  alignas(64) float sum[kTile];
  const Kept kept(tile.residual, tile.key);
  MostBits all;
  float* scale = scales;
  for (std::size_t at = 0; at < tile.padded; at += rule.block, scale += rule.scales) {
    const std::size_t end = std::min<std::size_t>(at + rule.block, tile.padded);
    MostBits most;
    typename Q::Statistics statistics;
    for (std::size_t i = at; i < end; i += kRun) {
#pragma GCC unroll 8
      for (std::size_t j = 0; j < kRun; j += kLanes) {
        VF x = hn::LoadU(F(), tile.values + i + j);
        if constexpr (Kept::kAny) x = hn::Add(x, kept.load(i + j));
        if constexpr (Kept::kAny) hn::Store(x, F(), sum + i + j);
        most.add(x);
        statistics.add(x, j);
      }
    }
    all.add(most);
    Q::write_scales(rule, most, statistics, std::min(end, tile.count) - at, scale);
  }
  if (!(std::bit_cast<float>(all.bits()) < rule.limit)) return false;
  for (std::size_t at = 0; at < tile.padded; at += rule.block, scales += rule.scales) {
    const std::size_t end = std::min<std::size_t>(at + rule.block, tile.padded);
    const Q q(scales);
    for (std::size_t i = at; i < end; i += Q::kUnit) {
      // The next tile is asked for while this one is computed, for the two loops over a tile would
      // else take turns: one waits for memory, the other lets it idle.
      fetch_lines<Q::kUnit>(tile.values + i + kTile);
      kept.template fetch<Q::kUnit>(i + kTile);
      q.encode((Kept::kAny ? sum : tile.values) + i, tile.key + static_cast<std::uint32_t>(i), kept,
               i, codes + i / Q::kUnit * Q::kUnitBytes);
    }
  }
  return true;
}

template <class Q>
bool encode(const DenseRule& rule, const DenseTile& tile, float* scales, std::uint8_t* codes) {
  using Simple = typename Unclipped<Q>::Type;
  if constexpr (!std::is_same_v<Simple, Q>) {
    if (rule.clip == 0) return encode<Simple>(rule, tile, scales, codes);
  }
  if (tile.residual.compact != nullptr) {
    return encode_tile<Q, CompactKept>(rule, tile, scales, codes);
  }
  if (tile.residual) return encode_tile<Q, FloatsKept>(rule, tile, scales, codes);
  return encode_tile<Q, NothingKept>(rule, tile, scales, codes);
}

template <class Q>
bool decode(const DenseRule& rule, const float* scales, const std::uint8_t* codes,
            std::size_t padded, float* out) {
  bool good = true;
  for (std::size_t at = 0; at < padded; at += rule.block, scales += rule.scales) {
    const std::size_t end = std::min<std::size_t>(at + rule.block, padded);
    Q q(scales);
    for (std::size_t i = at; i < end; i += Q::kUnit) {
      q.decode(codes + i / Q::kUnit * Q::kUnitBytes, out + i);
    }
    good = good && q.finite(rule);
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

// In the order of DenseKind.
#define WEFT_QUANTISERS(f)                                                                         \
  {                                                                                                \
    &f<Float32>, &f<Float16>, &f<Bfloat16>, &f<Integer<8, false, ByMost>>,                         \
        &f<Integer<8, true, ByMost>>, &f<Integer<4, false, ByMost>>, &f<Integer<4, true, ByMost>>, \
        &f<Integer<2, false, ByClip>>, &f<Integer<2, true, ByClip>>,                               \
        &f<Integer<8, false, ByNorm>>, &f<Integer<8, true, ByNorm>>,                               \
        &f<Integer<4, false, ByNorm>>, &f<Integer<4, true, ByNorm>>,                               \
        &f<Integer<2, false, ByNorm>>, &f<Integer<2, true, ByNorm>>, &f<Float8<E4m3>>,             \
        &f<Float8<E5m2>>, &f<Natural<false>>, &f<Natural<true>>, &f<Sign>, &f<ScaledSign>,         \
        &f<OneBit>                                                                                 \
  }

constexpr DenseKernels kKernels = {WEFT_QUANTISERS(encode), WEFT_QUANTISERS(decode), &add, &stream,
                                   &hwy::FlushStream};

#undef WEFT_QUANTISERS

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
