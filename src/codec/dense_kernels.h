// The inner loops of codecs that send every value in a few bits: v → code, scale per block.
//
// Values go in tiles, tiles in blocks, each with its scales. Codes of 8, 4 or 2 bits are packed in
// units of eight little-endian words: value i of a unit is in word i % 8, from bit i / 8 · bits on.
// One-bit codes are in order, from the lowest bit of the first byte on; wider ones too.
#pragma once

#include <cstddef>
#include <cstdint>

#include "codec/residual.h"

namespace weft::codec {

inline constexpr std::size_t kRun = 32;       // values that loops take at a time
inline constexpr std::size_t kPadding = 128;  // the largest unit; loops see tiles of a multiple
inline constexpr std::size_t kTile = 1024;

// From so many bytes on, what is written goes around the caches: it would push out what is needed
// sooner.
inline constexpr std::size_t kLeastStreamed = 1 << 20;

// A block whose largest magnitude (or norm, or mean) is below is sent as zeros: the inverse of its
// scale would overflow.
inline constexpr float kTiny = 0x1p-100F;

// One quantiser each. "Random" rounds at random and unbiased, the others to nearest.
enum class DenseKind : std::uint8_t {
  kFloat32,
  kFloat16,
  kBfloat16,
  kInt8,
  kInt8Random,
  kInt4,
  kInt4Random,
  kTernary,
  kTernaryRandom,
  kQsgd8,
  kQsgd8Random,
  kQsgd4,
  kQsgd4Random,
  kQsgd2,
  kQsgd2Random,
  kE4m3,
  kE5m2,
  kNatural,
  kNaturalRandom,
  kSign,
  kScaledSign,
  kOneBit,
};
inline constexpr std::size_t kDenseKinds = 22;

// How a codec quantises; the same for all its tiles.
struct DenseRule {
  DenseKind kind = DenseKind::kFloat32;
  std::uint32_t bits = 32;      // of a code
  std::uint32_t block = kTile;  // values that share scales: a power of two from kPadding to kTile
  std::uint32_t scales = 0;     // floats per block
  float limit = 0;              // magnitudes at and above are refused
  float clip = 0;               // ternary: largest magnitude in standard deviations; 0: no limit
};

// At most a tile of values.
struct DenseTile {
  const float* values = nullptr;
  Residual residual = {};  // floats, or compact, or none
  std::size_t count = 0;   // real values
  std::size_t padded = 0;  // count rounded up to kPadding; those beyond count are 0
  std::uint32_t key = 0;   // of the random numbers, the first value's place among them included
};

struct DenseKernels {
  // Writes scales and codes, and the new residual.
  // Ensures: false, and the residual as it was, when a magnitude reaches the limit or is NaN.
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
