// What one average through a codec works on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/compress/compressed_reduce.h"

namespace weft::runtime {

struct CompressedReduce::Job {
  std::uint32_t bucket = 0;
  std::span<float> data;
  CallOptions call;
  int ranks = 1, rank = 0;
  BucketContents contents;
};

// Kept from step to step: fresh memory of this size costs more than what is done in it.
struct CompressedReduce::Buffers {
  std::vector<std::byte> out, in;  // letters to and from every rank
  std::vector<float> sum;          // of this rank's part
  std::vector<std::byte> mean;     // the letter of this rank's part
  std::vector<std::byte> means;    // of every rank's
};

}  // namespace weft::runtime
