#include "codec/sparse_kernels.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/vector_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "codec/sparse_kernels.cc"
#include <hwy/foreach_target.h>

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include "codec/vector_runs.h"

HWY_BEFORE_NAMESPACE();
namespace weft::codec {
namespace HWY_NAMESPACE {
namespace {

// Values of one piece: v of a piece stays in the nearest cache between the loops over it.
constexpr std::size_t kPiece = 1024;

// Takes value i of the chunk if it may be chosen.
HWY_INLINE bool take(float v, std::size_t i, float threshold, Chosen& chosen) {
  if (chosen.room == 0) return false;
  if (std::abs(v) == threshold) {
    if (chosen.ties == 0) return false;
    --chosen.ties;
  }
  --chosen.room;
  chosen.offsets[chosen.count] = static_cast<std::uint16_t>(i);
  chosen.values[chosen.count++] = v;
  return true;
}

// Copies v[0, count), which stands at `at` in the chunk, to `kept` (unless null), takes what
// reaches the threshold, and tells zero(place) where. Few do, so vectors are only looked at
// together. Asks for the values of the next piece meanwhile.
template <class Zero>
HWY_INLINE void take_all(const float* v, std::size_t at, std::size_t count, float threshold,
                         const float* next, float* kept, Chosen& chosen, const Zero& zero) {
  constexpr std::size_t kStep = 16;  // a cache line
  const auto look = [&](std::size_t i) HWY_ATTR {
    const VF x = hn::Load(F(), v + i);
    if (kept != nullptr) hn::StoreU(x, F(), kept + i);
    const auto reaches = hn::Ge(hn::Abs(x), real(threshold));
    std::uint8_t bits = 0;
    hn::StoreMaskBits(F(), reaches, &bits);
    return static_cast<unsigned>(bits) << i % kStep;
  };
  std::size_t i = 0;
  for (; i + kStep <= count; i += kStep) {
    hwy::Prefetch(next + i);
    if (kept != nullptr) hwy::Prefetch(kept + kPiece + i);
    unsigned left = 0;
#pragma GCC unroll 4
    for (std::size_t j = 0; j < kStep; j += kLanes) left |= look(i + j);
    for (; left != 0; left &= left - 1) {
      const std::size_t place = i + static_cast<std::size_t>(std::countr_zero(left));
      if (take(v[place], at + place, threshold, chosen)) zero(place);
    }
  }
  for (; i < count; ++i) {
    if (kept != nullptr) kept[i] = v[i];
    if (std::abs(v[i]) >= threshold && take(v[i], at + i, threshold, chosen)) zero(i);
  }
}

std::size_t choose(const float* values, float* residual, std::size_t count, float threshold,
                   Chosen& chosen) {
  alignas(64) float v[kPiece];
  for (std::size_t at = 0; at < count; at += kPiece) {
    const std::size_t n = std::min(kPiece, count - at);
    const float* from = values + at;
    float* kept = residual != nullptr ? residual + at : nullptr;
    MostBits most;
    std::size_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
      VF x = hn::LoadU(F(), from + i);
      if (kept != nullptr) x = hn::Add(x, hn::LoadU(F(), kept + i));
      hn::Store(x, F(), v + i);
      most.add(x);
    }
    float largest = std::bit_cast<float>(most.bits());
    bool finite = std::isfinite(largest);
    for (; i < n; ++i) {
      v[i] = kept != nullptr ? from[i] + kept[i] : from[i];
      finite = finite && std::isfinite(v[i]);
    }
    if (!finite) return at;
    take_all(v, at, n, threshold, from + kPiece, kept, chosen, [&](std::size_t place) {
      if (kept != nullptr) kept[place] = 0;
    });
  }
  return count;
}

void choose_velocity(const float* values, float* velocity, float* residual, std::size_t count,
                     float momentum, float scale, float threshold, Chosen& chosen) {
  alignas(64) float v[kPiece];
  for (std::size_t at = 0; at < count; at += kPiece) {
    const std::size_t n = std::min(kPiece, count - at);
    std::size_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
      const VF next = hn::Add(hn::Mul(real(momentum), hn::LoadU(F(), velocity + at + i)),
                              hn::Mul(real(scale), hn::LoadU(F(), values + at + i)));
      const VF x = hn::Add(hn::LoadU(F(), residual + at + i), next);
      hn::StoreU(next, F(), velocity + at + i);
      hn::StoreU(x, F(), residual + at + i);
      hn::Store(x, F(), v + i);
    }
    for (; i < n; ++i) {
      const float next = momentum * velocity[at + i] + scale * values[at + i];
      velocity[at + i] = next;
      v[i] = residual[at + i] + next;
      residual[at + i] = v[i];
    }
    take_all(v, at, n, threshold, values + at + kPiece, nullptr, chosen, [&](std::size_t place) {
      residual[at + place] = 0;
      velocity[at + place] = 0;
    });
  }
}

void choose_bins(const float* values, float* residual, std::size_t count, std::size_t bin,
                 Chosen& chosen) {
  for (std::size_t at = 0; at < count; at += bin) {
    const std::size_t end = std::min(at + bin, count);
    float most = 0;
    for (std::size_t i = at; i < end; ++i) {
      residual[i] += values[i];
      most = std::max(most, std::abs(residual[i]));
    }
    if (most == 0) continue;
    for (std::size_t i = at; i < end; ++i) {
      const float eager = residual[i] + values[i];
      if (std::abs(eager) >= most && take(residual[i], i, 0, chosen)) residual[i] = 0;
    }
  }
}

double sum_of_squares(const float* values, std::size_t count) {
  double total = 0;
  std::size_t at = 0;
  for (; at + kPiece <= count; at += kPiece) {
    ColumnSum squares;
    for (std::size_t i = 0; i < kPiece; i += 32) {
#pragma GCC unroll 8
      for (std::size_t j = 0; j < 32; j += kLanes) {
        const VF x = hn::LoadU(F(), values + at + i + j);
        squares.add(hn::Mul(x, x), j);
      }
    }
    total += static_cast<double>(squares.total());
  }
  for (; at < count; ++at)
    total += static_cast<double>(values[at]) * static_cast<double>(values[at]);
  return total;
}

constexpr SparseKernels kKernels = {&choose, &choose_velocity, &choose_bins, &sum_of_squares};

}  // namespace

const SparseKernels* kernels_for_sparse() { return &kKernels; }

}  // namespace HWY_NAMESPACE
}  // namespace weft::codec
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft::codec {
namespace {
HWY_EXPORT(kernels_for_sparse);
}  // namespace

const SparseKernels& sparse_kernels() { return *HWY_DYNAMIC_DISPATCH(kernels_for_sparse)(); }

}  // namespace weft::codec
#endif
