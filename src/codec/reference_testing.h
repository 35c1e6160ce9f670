// The dense codecs once more, as plain loops over single values: what the vector code must equal
// bit by bit.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "codec/dense.h"

namespace weft::codec {

struct ReferenceResult {
  std::vector<std::byte> bytes;  // the whole buffer
  std::vector<float> residual;   // what is left of values + residual
};

ReferenceResult reference_encode(const DenseFormat& format, std::span<const float> values,
                                 std::span<const float> residual, std::uint32_t key,
                                 std::size_t first);

}  // namespace weft::codec
