#include "codec/sparse_kernels.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

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

// Values that are summed in float32 before their sum goes to double.
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

// Which of up to kStep values do not stay below the threshold, as bits; NaN is one of them.
constexpr std::size_t kStep = 16;  // a cache line
HWY_INLINE unsigned not_below(const VF* x, float threshold) {
  unsigned below = 0;
#pragma GCC unroll 4
  for (std::size_t j = 0; j < kStep / kLanes; ++j) {
    std::uint8_t bits = 0;
    hn::StoreMaskBits(F(), hn::Lt(hn::Abs(x[j]), real(threshold)), &bits);
    below |= static_cast<unsigned>(bits) << j * kLanes;
  }
  return below ^ 0xFFFF;
}

// One pass: few values are chosen, so a line is only looked at closely when one of it may be.
template <bool kFeedback>
std::size_t choose_lines(const float* values, float* residual, std::size_t count, float threshold,
                         Chosen& chosen) {
  alignas(64) float v[kStep] = {};
  for (std::size_t at = 0; at < count; at += kStep) {
    const std::size_t n = std::min(kStep, count - at);
    VF x[kStep / kLanes];
    if (n == kStep) {
#pragma GCC unroll 4
      for (std::size_t j = 0; j < kStep / kLanes; ++j) {
        x[j] = hn::LoadU(F(), values + at + j * kLanes);
        if constexpr (kFeedback) x[j] = hn::Add(x[j], hn::LoadU(F(), residual + at + j * kLanes));
      }
    } else {
      std::fill_n(v, kStep, 0.0F);
      for (std::size_t i = 0; i < n; ++i) {
        v[i] = kFeedback ? values[at + i] + residual[at + i] : values[at + i];
      }
      for (std::size_t j = 0; j < kStep / kLanes; ++j) x[j] = hn::Load(F(), v + j * kLanes);
    }
    unsigned hits = not_below(x, threshold);
    if (hits != 0 && not_below(x, std::numeric_limits<float>::infinity()) != 0) return at;
    if constexpr (kFeedback) {
      if (n == kStep) {
#pragma GCC unroll 4
        for (std::size_t j = 0; j < kStep / kLanes; ++j) {
          hn::StoreU(x[j], F(), residual + at + j * kLanes);
        }
      } else {
        std::copy_n(v, n, residual + at);
      }
    }
    if (hits == 0) continue;
#pragma GCC unroll 4
    for (std::size_t j = 0; j < kStep / kLanes; ++j) hn::Store(x[j], F(), v + j * kLanes);
    for (; hits != 0; hits &= hits - 1) {
      const auto place = static_cast<std::size_t>(std::countr_zero(hits));
      const bool taken = take(v[place], at + place, threshold, chosen);
      if (kFeedback && taken) residual[at + place] = 0;
    }
  }
  return count;
}

std::size_t choose(const float* values, float* residual, std::size_t count, float threshold,
                   Chosen& chosen) {
  return residual != nullptr ? choose_lines<true>(values, residual, count, threshold, chosen)
                             : choose_lines<false>(values, nullptr, count, threshold, chosen);
}

std::size_t choose_velocity(const float* values, float* velocity, float* residual,
                            std::size_t count, float momentum, float scale, float threshold,
                            Chosen& chosen) {
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const VF kept = hn::Mul(real(momentum), hn::LoadU(F(), velocity + i));
    const VF fresh = hn::Mul(real(scale), hn::LoadU(F(), values + i));
    hn::StoreU(hn::Add(kept, fresh), F(), velocity + i);
  }
  for (; i < count; ++i) velocity[i] = momentum * velocity[i] + scale * values[i];
  return choose(velocity, residual, count, threshold, chosen);
}

// residual += values; gives the largest magnitude that comes of it.
float add_bin(const float* values, float* residual, std::size_t count) {
  MostBits most;
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const VF v = hn::Add(hn::LoadU(F(), values + i), hn::LoadU(F(), residual + i));
    hn::StoreU(v, F(), residual + i);
    most.add(v);
  }
  float largest = std::bit_cast<float>(most.bits());
  for (; i < count; ++i) {
    residual[i] += values[i];
    largest = std::max(largest, std::abs(residual[i]));
  }
  return largest;
}

void choose_bins(const float* values, float* residual, std::size_t count, std::size_t bin,
                 Chosen& chosen) {
  for (std::size_t at = 0; at < count; at += bin) {
    const std::size_t end = std::min(at + bin, count);
    const float most = add_bin(values + at, residual + at, end - at);
    if (most == 0) continue;
    const auto look = [&](std::size_t i) {
      const float eager = residual[i] + values[i];
      if (std::abs(eager) >= most && take(residual[i], i, 0, chosen)) residual[i] = 0;
    };
    std::size_t i = at;
    for (; i + kLanes <= end; i += kLanes) {
      const VF eager = hn::Add(hn::LoadU(F(), residual + i), hn::LoadU(F(), values + i));
      if (hn::AllFalse(F(), hn::Ge(hn::Abs(eager), real(most)))) continue;
      for (std::size_t j = i; j < i + kLanes; ++j) look(j);
    }
    for (; i < end; ++i) look(i);
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
