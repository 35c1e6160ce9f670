#include "codec/matrix_kernels.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "base/vector_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "codec/matrix_kernels.cc"
#include <hwy/foreach_target.h>

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include "codec/dense_kernels.h"
#include "codec/vector_runs.h"

HWY_BEFORE_NAMESPACE();
namespace weft::codec {
namespace HWY_NAMESPACE {
namespace {

// Sums run over eight columns whatever the width of vectors, and products are rounded before they
// are added, so that every processor gets the same bits.
constexpr std::size_t kEight = 8, kParts = kEight / kLanes;

// Values of a row that are asked for ahead. Past the end of memory it does no harm.
constexpr std::size_t kAhead = 512;

HWY_INLINE VF times(VF a, VF b) { return hn::Mul(a, b); }

HWY_INLINE float fold(const VF* parts) {
  VF sum = parts[0];
  for (std::size_t h = 1; h < kParts; ++h) sum = hn::Add(sum, parts[h]);
  auto last = four_of(sum);
  last = hn::Add(last, hn::Shuffle1032(last));
  return hn::GetLane(hn::Add(last, hn::Shuffle2301(last)));
}

// x, or `otherwise` where x is not finite.
HWY_INLINE VF finite_or(VF x, VF otherwise) {
  return hn::IfThenElse(hn::Lt(hn::Abs(x), real(std::numeric_limits<float>::infinity())), x,
                        otherwise);
}

// p[r][k] = row r · q[k] for R rows and K columns k: q is loaded once for R rows. With kFirst rows
// are values + residual, which become the residual.
template <std::size_t R, std::size_t K, bool kFirst>
HWY_INLINE void project_rows(const float* values, float* residual, std::size_t length,
                             const float* q, std::size_t cols, float* p, std::size_t p_stride,
                             MostBits& most) {
  VF sums[R][K][kParts];
  for (auto& row : sums) {
    for (auto& parts : row) {
      for (VF& part : parts) part = hn::Zero(F());
    }
  }
  std::size_t j = 0;
  for (; j + kEight <= length; j += kEight) {
#pragma GCC unroll 2
    for (std::size_t h = 0; h < kParts; ++h) {
      VF x[R];
#pragma GCC unroll 2
      for (std::size_t r = 0; r < R; ++r) {
        const std::size_t at = r * cols + j + h * kLanes;
        x[r] = hn::LoadU(F(), residual + at);
        if constexpr (kFirst) {
          if (h == 0 && j % 16 == 0) {
            hwy::Prefetch(values + at + R * cols);
            hwy::Prefetch(residual + at + R * cols);
          }
          const VF old = x[r];
          x[r] = hn::Add(old, hn::LoadU(F(), values + at));
          most.add(x[r]);
          hn::StoreU(finite_or(x[r], old), F(), residual + at);
        }
      }
#pragma GCC unroll 4
      for (std::size_t k = 0; k < K; ++k) {
        const VF factor = hn::LoadU(F(), q + k * cols + j + h * kLanes);
#pragma GCC unroll 2
        for (std::size_t r = 0; r < R; ++r) {
          sums[r][k][h] = hn::Add(sums[r][k][h], times(x[r], factor));
        }
      }
    }
  }
  for (std::size_t r = 0; r < R; ++r) {
    for (std::size_t k = 0; k < K; ++k) p[k * p_stride + r] = fold(sums[r][k]);
    for (std::size_t i = j; i < length; ++i) {
      float& kept = residual[r * cols + i];
      if constexpr (kFirst) {
        const float x = kept + values[r * cols + i];
        most.add(real(x));
        if (std::isfinite(x)) kept = x;
      }
      for (std::size_t k = 0; k < K; ++k) p[k * p_stride + r] += kept * q[k * cols + i];
    }
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

// Calls step(first row, number of rows as a constant, length) for all rows, kTogether at a time.
template <std::size_t kTogether, class Step>
HWY_INLINE void for_rows(const MatrixShape& shape, const Step& step) {
  std::size_t i = 0;
  for (; i + kTogether <= shape.rows && length_of(shape, i + kTogether - 1) == shape.cols;
       i += kTogether) {
    step(i, std::integral_constant<std::size_t, kTogether>(), shape.cols);
  }
  for (; i < shape.rows; ++i) {
    step(i, std::integral_constant<std::size_t, 1>(), length_of(shape, i));
  }
}

bool project(const MatrixShape& shape, const float* values, float* residual, const float* q,
             float* p) {
  MostBits most;
  for_rows<2>(shape, [&](std::size_t i, auto rows, std::size_t length) HWY_ATTR {
    const std::size_t from = i * shape.cols;
    for_columns(shape.rank, [&](std::size_t k, auto columns) HWY_ATTR {
      constexpr std::size_t kRows = decltype(rows)::value, kColumns = decltype(columns)::value;
      const float* factor = q + k * shape.cols;
      float* to = p + k * shape.rows + i;
      if (k == 0) {
        project_rows<kRows, kColumns, true>(values + from, residual + from, length, factor,
                                            shape.cols, to, shape.rows, most);
      } else {
        project_rows<kRows, kColumns, false>(nullptr, residual + from, length, factor, shape.cols,
                                             to, shape.rows, most);
      }
    });
  });
  return std::isfinite(std::bit_cast<float>(most.bits()));
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
#pragma GCC unroll 8
    for (std::size_t r = 0; r < R; ++r) {
      const float* at = rows + r * cols + j;
      if (j % 16 == 0) hwy::Prefetch(at + kAhead);
      const VF x = hn::LoadU(F(), at);
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
  for_rows<8>(shape, [&](std::size_t i, auto rows, std::size_t length) HWY_ATTR {
    for_columns(shape.rank, [&](std::size_t k, auto columns) HWY_ATTR {
      back_rows<decltype(rows)::value, decltype(columns)::value>(matrix + i * shape.cols, length,
                                                                 p + k * shape.rows + i, shape.rows,
                                                                 q + k * shape.cols, shape.cols);
    });
  });
}

// Columns of a piece of rows on its way to memory.
constexpr std::size_t kStage = 512;

// R rows of the products p · qᵀ, taken from the residual, and p · sumᵀ, which goes to `out`, for
// K columns k. With kFirst out is set, else added to. Rows of `out` are kStage apart.
template <std::size_t R, std::size_t K, bool kFirst>
HWY_INLINE void expand_rows(const float* p, std::size_t p_stride, const float* q, const float* sum,
                            std::size_t cols, std::size_t length, float* residual, float* out) {
  VF factors[R][K];
  for (std::size_t r = 0; r < R; ++r) {
    for (std::size_t k = 0; k < K; ++k) factors[r][k] = real(p[k * p_stride + r]);
  }
  std::size_t j = 0;
  for (; j + kLanes <= length; j += kLanes) {
    VF own[R], all[R];
#pragma GCC unroll 4
    for (std::size_t k = 0; k < K; ++k) {
      const VF mine = hn::LoadU(F(), q + k * cols + j), total = hn::LoadU(F(), sum + k * cols + j);
#pragma GCC unroll 4
      for (std::size_t r = 0; r < R; ++r) {
        const VF a = times(factors[r][k], mine), b = times(factors[r][k], total);
        own[r] = k == 0 ? a : hn::Add(own[r], a);
        all[r] = k == 0 ? b : hn::Add(all[r], b);
      }
    }
#pragma GCC unroll 4
    for (std::size_t r = 0; r < R; ++r) {
      float* kept = residual + r * cols + j;
      if (kFirst && j % 16 == 0) hwy::Prefetch(kept + kAhead);
      hn::StoreU(hn::Sub(hn::LoadU(F(), kept), own[r]), F(), kept);
      float* to = out + r * kStage + j;
      hn::StoreU(kFirst ? all[r] : hn::Add(hn::LoadU(F(), to), all[r]), F(), to);
    }
  }
  for (; j < length; ++j) {
    for (std::size_t r = 0; r < R; ++r) {
      float own = p[r] * q[j], all = p[r] * sum[j];
      for (std::size_t k = 1; k < K; ++k) {
        own += p[k * p_stride + r] * q[k * cols + j];
        all += p[k * p_stride + r] * sum[k * cols + j];
      }
      residual[r * cols + j] -= own;
      float& to = out[r * kStage + j];
      to = kFirst ? all : to + all;
    }
  }
}

void expand(const MatrixShape& shape, const float* p, const float* q, const float* sum,
            float* residual, float* out) {
  const DenseKernels& copies = dense_kernels();
  const bool streamed = shape.count * sizeof(float) >= kLeastStreamed;
  constexpr std::size_t kRowsTogether = 4;
  alignas(64) float stage[kRowsTogether * kStage];
  for_rows<kRowsTogether>(shape, [&](std::size_t i, auto rows, std::size_t whole) HWY_ATTR {
    constexpr std::size_t kRows = decltype(rows)::value;
    for (std::size_t c = 0; c < whole; c += kStage) {
      const std::size_t from = i * shape.cols + c, length = std::min(kStage, whole - c);
      for_columns(shape.rank, [&](std::size_t k, auto columns) HWY_ATTR {
        constexpr std::size_t kColumns = decltype(columns)::value;
        const std::size_t column = k * shape.cols + c;
        const float* row = p + k * shape.rows + i;
        if (k == 0) {
          expand_rows<kRows, kColumns, true>(row, shape.rows, q + column, sum + column, shape.cols,
                                             length, residual + from, stage);
        } else {
          expand_rows<kRows, kColumns, false>(row, shape.rows, q + column, sum + column, shape.cols,
                                              length, residual + from, stage);
        }
      });
      for (std::size_t r = 0; r < kRows; ++r) {
        const float* done = stage + r * kStage;
        float* to = out + from + r * shape.cols;
        if (!streamed) {
          std::copy_n(done, length, to);
        } else {
          copies.stream(reinterpret_cast<const std::uint8_t*>(done), length * sizeof(float),
                        reinterpret_cast<std::uint8_t*>(to));
        }
      }
    }
  });
  if (streamed) copies.flush();
}

constexpr MatrixKernels kKernels = {&project, &project_back, &expand};

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
