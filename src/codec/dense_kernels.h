// The inner loops of codecs that send every value in a few bits: v → code, scale per block.
//
// Values go in tiles, tiles in blocks (one set of scales each), blocks in runs of 32. A code of
// fewer than 8 bits shares its byte with values of the same run: with B bits, byte j of a run
// holds, from its lowest bits up, the values j, j + 4B, j + 8B, …; one-bit codes are in order
// instead.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::codec {

inline constexpr std::size_t kRun = 32;
inline constexpr std::size_t kTile = 2048;

// Magnitudes at and above are refused where blocks have scales; a block whose largest is below
// kTiny is sent as zeros. Between the two no scale and no inverse of one overflows.
inline constexpr float kHuge = 0x1p126F, kTiny = 0x1p-100F;

// One quantiser each. "Random" rounds at random and unbiased, the others to nearest.
enum class DenseKind : std::uint8_t {
  kFloat32,
  kFloat16,
  kBfloat16,
  kInt8,
  kInt8Random,
  kInt4,
  kInt4Random,
};
inline constexpr std::size_t kDenseKinds = 7;

// How a codec quantises; the same for all its tiles.
struct DenseRule {
  DenseKind kind = DenseKind::kFloat32;
  std::uint32_t bits = 32;      // of a code
  std::uint32_t block = kTile;  // values that share scales: a power of two from kRun to kTile
  std::uint32_t scales = 0;     // floats per block
};

// At most a tile of values.
struct DenseTile {
  const float* values = nullptr;
  float* residual = nullptr;  // null: no error feedback
  std::size_t count = 0;      // real values
  std::size_t padded = 0;     // count rounded up to kRun; those beyond count are 0
  std::uint32_t key = 0;      // of the random numbers,
  std::uint32_t first = 0;    // and the place of the first value among them
};

struct DenseKernels {
  // Writes scales and codes, and the new residual.
  // Ensures: false, with an unspecified part written, when a value cannot be coded (NaN, infinity,
  // or out of the format's range).
  bool (*encode[kDenseKinds])(const DenseRule&, const DenseTile&, float* scales,
                              std::uint8_t* codes);
  // Writes `padded` values.  Ensures: false when one of them is not finite.
  bool (*decode[kDenseKinds])(const DenseRule&, const float* scales, const std::uint8_t* codes,
                              std::size_t padded, float* out);
  // out[i] += values[i].
  void (*add)(const float* values, std::size_t count, float* out);
  // Copies around the caches, for buffers that are not read soon; flush ends it.
  void (*stream)(const std::uint8_t* from, std::size_t bytes, std::uint8_t* to);
  void (*flush)();
};

// For this processor. Cost: some nanoseconds.
const DenseKernels& dense_kernels();

}  // namespace weft::codec
