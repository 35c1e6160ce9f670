// 1-bit Adam: a codec that contains its optimizer.
#pragma once

#include <memory>

#include "codec/codec.h"
#include "codec/parameters.h"

namespace weft::codec {

// Ensures: a codec, made with defaults where parameters were wrong; the caller looks at
// Parameters::end().
std::unique_ptr<Codec> make_onebit_adam(Parameters& p);

}  // namespace weft::codec
