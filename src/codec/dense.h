// Codecs that send every value in a few bits.
#pragma once

#include <memory>

#include "codec/codec.h"
#include "codec/dense_kernels.h"
#include "codec/envelope.h"

namespace weft::codec {

// What the bytes are and how they are made. `feedback`: the state keeps a residual.
struct DenseFormat {
  WireId id = WireId::kFloat32;
  DenseRule rule;
  bool feedback = false;
};

std::unique_ptr<OpaqueCodec> make_dense(std::string text, const DenseFormat& format);

}  // namespace weft::codec
