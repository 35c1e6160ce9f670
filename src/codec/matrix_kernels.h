// The passes of PowerSGD over a matrix, each one over memory.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::codec {

// A matrix of `rows` × `cols` by rows, the last of which may be cut short after `count` values in
// all. Factors have `rank` columns and lie column by column.
struct MatrixShape {
  std::size_t rows = 0, cols = 0, count = 0, rank = 0;
};

struct MatrixKernels {
  // residual += values; p = residual · q.
  // Ensures: false when a sum is not finite; the residual stays where it is not.
  bool (*project)(const MatrixShape&, const float* values, float* residual, const float* q,
                  float* p);
  // q = matrixᵀ · p.
  void (*project_back)(const MatrixShape&, const float* matrix, const float* p, float* q);
  // residual -= p · qᵀ, with q this rank's own; out = p · sumᵀ.
  void (*expand)(const MatrixShape&, const float* p, const float* q, const float* sum,
                 float* residual, float* out);
};

// For this processor. Cost: some nanoseconds.
const MatrixKernels& matrix_kernels();

}  // namespace weft::codec
