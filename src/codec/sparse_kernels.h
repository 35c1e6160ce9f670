// The inner loops of codecs that send few values and keep the rest: what is kept out of a chunk.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::codec {

// Values of one chunk: its offsets take 16 bits.
inline constexpr std::size_t kChunk = 65536;

// Where the chosen values of a chunk go.
struct Chosen {
  std::uint16_t* offsets = nullptr;
  float* values = nullptr;
  std::size_t count = 0;
  std::size_t room = 0;  // how many more may be chosen
  std::size_t ties = 0;  // how many more of a magnitude equal to the threshold
};

struct SparseKernels {
  // v = values + residual (which may be null). Chooses those of magnitude `threshold` or more, in
  // order, while there is room; v becomes the residual where it is not chosen, else 0.
  // Ensures: how many values were handled: `count`, or fewer when one after them is not finite;
  // residuals from there on are as before.  Requires: count <= kChunk, threshold above 0.
  std::size_t (*choose)(const float* values, float* residual, std::size_t count, float threshold,
                        Chosen& chosen);
  // Deep gradient compression: velocity = momentum · velocity + scale · value, v = residual +
  // velocity; where v is chosen the residual becomes 0.
  // Requires: finite values. Ensures: as choose, but velocities have changed everywhere.
  std::size_t (*choose_velocity)(const float* values, float* velocity, float* residual,
                                 std::size_t count, float momentum, float scale, float threshold,
                                 Chosen& chosen);
  // AdaComp: per bin, those for which |v + value| is no less than the bin's largest |v|. A bin of
  // zeros chooses nothing.  Requires: finite values; residual not null.
  void (*choose_bins)(const float* values, float* residual, std::size_t count, std::size_t bin,
                      Chosen& chosen);
  // The sum of squares, or NaN or infinity when a value is.
  double (*sum_of_squares)(const float* values, std::size_t count);
};

// For this processor. Cost: some nanoseconds.
const SparseKernels& sparse_kernels();

}  // namespace weft::codec
