#include "codec/matrix_kernels.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "base/vector_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "codec/matrix_kernels.cc"
#include <hwy/foreach_target.h>

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include "codec/vector_runs.h"

HWY_BEFORE_NAMESPACE();
namespace weft::codec {
namespace HWY_NAMESPACE {
namespace {

// Sums run over eight columns whatever the width of vectors, and products are rounded before they
// are added, so that every processor gets the same bits.
constexpr std::size_t kEight = 8, kParts = kEight / kLanes;

HWY_INLINE VF times(VF a, VF b) { return hn::Mul(a, b); }

HWY_INLINE float fold(const VF* parts) {
  VF sum = parts[0];
  for (std::size_t h = 1; h < kParts; ++h) sum = hn::Add(sum, parts[h]);
  auto last = four_of(sum);
  last = hn::Add(last, hn::Shuffle1032(last));
  return hn::GetLane(hn::Add(last, hn::Shuffle2301(last)));
}

// p[k] = row · q[k] for K columns k. With kFirst the row is values + residual and becomes the
// residual.
template <std::size_t K, bool kFirst>
HWY_INLINE void project_row(const float* values, float* residual, std::size_t length,
                            const float* q, std::size_t cols, float* p, std::size_t rows) {
  VF sums[K][kParts];
  for (auto& parts : sums) {
    for (VF& part : parts) part = hn::Zero(F());
  }
  std::size_t j = 0;
  for (; j + kEight <= length; j += kEight) {
#pragma GCC unroll 2
    for (std::size_t h = 0; h < kParts; ++h) {
      const std::size_t at = j + h * kLanes;
      VF x = hn::LoadU(F(), residual + at);
      if constexpr (kFirst) {
        x = hn::Add(x, hn::LoadU(F(), values + at));
        hn::StoreU(x, F(), residual + at);
      }
#pragma GCC unroll 4
      for (std::size_t k = 0; k < K; ++k) {
        sums[k][h] = hn::Add(sums[k][h], times(x, hn::LoadU(F(), q + k * cols + at)));
      }
    }
  }
  for (std::size_t k = 0; k < K; ++k) p[k * rows] = fold(sums[k]);
  for (; j < length; ++j) {
    if constexpr (kFirst) residual[j] += values[j];
    for (std::size_t k = 0; k < K; ++k) p[k * rows] += residual[j] * q[k * cols + j];
  }
}

// Calls step(first column, number of columns as a constant) for all columns of a factor.
template <class Step>
HWY_INLINE void for_columns(std::size_t rank, const Step& step) {
  std::size_t k = 0;
  for (; k + 4 <= rank; k += 4) step(k, std::integral_constant<std::size_t, 4>());
  for (; k + 2 <= rank; k += 2) step(k, std::integral_constant<std::size_t, 2>());
  for (; k < rank; ++k) step(k, std::integral_constant<std::size_t, 1>());
}

HWY_INLINE std::size_t length_of(const MatrixShape& shape, std::size_t row) {
  return std::min(shape.cols, shape.count - row * shape.cols);
}

void project(const MatrixShape& shape, const float* values, float* residual, const float* q,
             float* p) {
  for (std::size_t i = 0; i < shape.rows; ++i) {
    const std::size_t from = i * shape.cols, length = length_of(shape, i);
    for_columns(shape.rank, [&](std::size_t k, auto together) HWY_ATTR {
      constexpr std::size_t kTogether = decltype(together)::value;
      const float* columns = q + k * shape.cols;
      float* to = p + k * shape.rows + i;
      if (k == 0) {
        project_row<kTogether, true>(values + from, residual + from, length, columns, shape.cols,
                                     to, shape.rows);
      } else {
        project_row<kTogether, false>(nullptr, residual + from, length, columns, shape.cols, to,
                                      shape.rows);
      }
    });
  }
}

// q[k] += p[i][k] · row i, for R rows and K columns k: q is loaded and stored once for R rows.
template <std::size_t R, std::size_t K>
HWY_INLINE void back_rows(const float* rows, std::size_t length, const float* p,
                          std::size_t p_stride, float* q, std::size_t cols) {
  VF factors[R][K];
  for (std::size_t r = 0; r < R; ++r) {
    for (std::size_t k = 0; k < K; ++k) factors[r][k] = real(p[k * p_stride + r]);
  }
  std::size_t j = 0;
  for (; j + kLanes <= length; j += kLanes) {
    VF sums[K];
#pragma GCC unroll 4
    for (std::size_t k = 0; k < K; ++k) sums[k] = hn::LoadU(F(), q + k * cols + j);
#pragma GCC unroll 2
    for (std::size_t r = 0; r < R; ++r) {
      const VF x = hn::LoadU(F(), rows + r * cols + j);
#pragma GCC unroll 4
      for (std::size_t k = 0; k < K; ++k) sums[k] = hn::Add(sums[k], times(factors[r][k], x));
    }
#pragma GCC unroll 4
    for (std::size_t k = 0; k < K; ++k) hn::StoreU(sums[k], F(), q + k * cols + j);
  }
  for (; j < length; ++j) {
    for (std::size_t r = 0; r < R; ++r) {
      for (std::size_t k = 0; k < K; ++k)
        q[k * cols + j] += p[k * p_stride + r] * rows[r * cols + j];
    }
  }
}

void project_back(const MatrixShape& shape, const float* matrix, const float* p, float* q) {
  std::fill_n(q, shape.cols * shape.rank, 0.0F);
  std::size_t i = 0;
  const auto rows = [&](auto together) HWY_ATTR {
    constexpr std::size_t kRows = decltype(together)::value;
    const std::size_t length = length_of(shape, i + kRows - 1);
    for_columns(shape.rank, [&](std::size_t k, auto columns) HWY_ATTR {
      back_rows<kRows, decltype(columns)::value>(matrix + i * shape.cols, length,
                                                 p + k * shape.rows + i, shape.rows,
                                                 q + k * shape.cols, shape.cols);
    });
    i += kRows;
  };
  while (i + 2 <= shape.rows && length_of(shape, i + 1) == shape.cols) {
    rows(std::integral_constant<std::size_t, 2>());
  }
  while (i < shape.rows) rows(std::integral_constant<std::size_t, 1>());
}

// out = p · sumᵀ for one row and columns [0, length); with kFirst it is set, else added to. The
// same product with q is taken from the residual.
template <std::size_t K, bool kFirst>
HWY_INLINE void expand_row(const float* p, std::size_t rows, const float* q, const float* sum,
                           std::size_t cols, std::size_t length, float* residual, float* out) {
  VF factors[K];
  for (std::size_t k = 0; k < K; ++k) factors[k] = real(p[k * rows]);
  std::size_t j = 0;
  for (; j + kLanes <= length; j += kLanes) {
    VF own = times(factors[0], hn::LoadU(F(), q + j));
    VF all = times(factors[0], hn::LoadU(F(), sum + j));
#pragma GCC unroll 4
    for (std::size_t k = 1; k < K; ++k) {
      own = hn::Add(own, times(factors[k], hn::LoadU(F(), q + k * cols + j)));
      all = hn::Add(all, times(factors[k], hn::LoadU(F(), sum + k * cols + j)));
    }
    hn::StoreU(hn::Sub(hn::LoadU(F(), residual + j), own), F(), residual + j);
    if constexpr (!kFirst) all = hn::Add(hn::LoadU(F(), out + j), all);
    hn::StoreU(all, F(), out + j);
  }
  for (; j < length; ++j) {
    float own = p[0] * q[j], all = p[0] * sum[j];
    for (std::size_t k = 1; k < K; ++k) {
      own += p[k * rows] * q[k * cols + j];
      all += p[k * rows] * sum[k * cols + j];
    }
    residual[j] -= own;
    out[j] = kFirst ? all : out[j] + all;
  }
}

void expand(const MatrixShape& shape, const float* p, const float* q, const float* sum,
            float* residual, float* out) {
  for (std::size_t i = 0; i < shape.rows; ++i) {
    const std::size_t from = i * shape.cols, length = length_of(shape, i);
    for_columns(shape.rank, [&](std::size_t k, auto together) HWY_ATTR {
      constexpr std::size_t kTogether = decltype(together)::value;
      const std::size_t column = k * shape.cols;
      const float* row = p + k * shape.rows + i;
      if (k == 0) {
        expand_row<kTogether, true>(row, shape.rows, q, sum, shape.cols, length, residual + from,
                                    out + from);
      } else {
        expand_row<kTogether, false>(row, shape.rows, q + column, sum + column, shape.cols, length,
                                     residual + from, out + from);
      }
    });
  }
}

void flip_signs(float* values, std::size_t count, std::uint32_t key) {
  for (std::size_t i = 0; i < count; i += 32) {
    const Draws draws(key + static_cast<std::uint32_t>(i));
    for (std::size_t j = 0; j < std::min<std::size_t>(32, count - i); j += kLanes) {
      const VU sign = hn::And(draws.words(j), word(0x80000000));
      hn::StoreU(real_of(hn::Xor(bits_of(hn::LoadU(F(), values + i + j)), sign)), F(),
                 values + i + j);
    }
  }
}

void rotate(float* values, std::size_t count, std::uint32_t key, bool back) {
  if (!back) flip_signs(values, count, key);
  for (std::size_t half = 1; half < count; half *= 2) {
    for (std::size_t i = 0; i < count; i += 2 * half) {
      std::size_t j = i;
      for (; half >= kLanes && j < i + half; j += kLanes) {
        const VF a = hn::LoadU(F(), values + j), b = hn::LoadU(F(), values + j + half);
        hn::StoreU(hn::Add(a, b), F(), values + j);
        hn::StoreU(hn::Sub(a, b), F(), values + j + half);
      }
      for (; j < i + half; ++j) {
        const float a = values[j], b = values[j + half];
        values[j] = a + b;
        values[j + half] = a - b;
      }
    }
  }
  const float scale = 1 / std::sqrt(static_cast<float>(count));
  for (std::size_t i = 0; i < count; i += kLanes) {
    hn::StoreU(times(hn::LoadU(F(), values + i), real(scale)), F(), values + i);
  }
  if (back) flip_signs(values, count, key);
}

constexpr MatrixKernels kKernels = {&project, &project_back, &expand, &rotate};

}  // namespace

const MatrixKernels* kernels_for_matrices() { return &kKernels; }

}  // namespace HWY_NAMESPACE
}  // namespace weft::codec
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft::codec {
namespace {
HWY_EXPORT(kernels_for_matrices);
}  // namespace

const MatrixKernels& matrix_kernels() { return *HWY_DYNAMIC_DISPATCH(kernels_for_matrices)(); }

}  // namespace weft::codec
#endif
