// Measures one codec on one thread.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "codec/codec.h"

namespace weft {

// Seconds of each round, and what the last one sent.
struct CodecSpeed {
  std::vector<double> memcpy_s, compress_s, decompress_s;
  double wire_bytes = 0;
  // Of the fastest round of each kind, and of the median round.
  double best_share() const;
  double median_share() const;
};

// Gradients as they look like: normal numbers of size 0.001.
std::vector<float> gradients_like(std::size_t count, std::uint64_t seed);

// Compresses and decompresses `values` `rounds` times, after one that does not count, and copies
// them with memcpy before each. What is decoded goes to `out`.
Result<CodecSpeed> measure_codec(const codec::Codec& codec, std::span<const float> values,
                                 int rounds, std::span<float> out);

}  // namespace weft
