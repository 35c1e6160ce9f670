// The bytes of values of which only some are sent: docs/codecs.md has the layout.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "codec/codec.h"

namespace weft::codec {

// The chosen values of a tensor in order. Offsets count from the start of their chunk.
struct SparseValues {
  std::vector<std::uint32_t> counts;  // per chunk
  std::vector<std::uint16_t> offsets;
  std::vector<float> values;
};

// The most bytes for `most` of `count` values. `carrier` encodes the values; null: as float32.
std::size_t most_sparse_bytes(std::size_t count, std::size_t most, const OpaqueCodec* carrier);

// Writes `sparse`, which came from `count` values. With a carrier the values become what decoding
// will give, so that the caller can keep the difference.
// Requires: room for most_sparse_bytes.
Result<std::size_t> write_sparse(SparseValues& sparse, std::size_t count,
                                 const OpaqueCodec* carrier, const CodecState& state,
                                 std::span<std::byte> out);

// Reads what write_sparse wrote into out, which is set to 0 elsewhere, or adds it to out. Checks
// all of it: the parts fill the bytes exactly, offsets rise within their chunk, values are finite.
Status read_sparse(std::span<const std::byte> bytes, const OpaqueCodec* carrier, bool add,
                   std::span<float> out);

}  // namespace weft::codec
