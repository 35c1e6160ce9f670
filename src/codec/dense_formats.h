// The dense codecs: each reads its parameters and says how it quantises.
#pragma once

#include <memory>

#include "codec/codec.h"
#include "codec/parameters.h"

namespace weft::codec {

// Ensures: a codec, made with defaults where parameters were wrong; the caller looks at
// Parameters::end().
std::unique_ptr<Codec> make_none(Parameters& p);
std::unique_ptr<Codec> make_fp16(Parameters& p);
std::unique_ptr<Codec> make_bf16(Parameters& p);
std::unique_ptr<Codec> make_fp8(Parameters& p);
std::unique_ptr<Codec> make_int8(Parameters& p);
std::unique_ptr<Codec> make_int4(Parameters& p);
std::unique_ptr<Codec> make_qsgd(Parameters& p);
std::unique_ptr<Codec> make_terngrad(Parameters& p);
std::unique_ptr<Codec> make_natural(Parameters& p);
std::unique_ptr<Codec> make_sign(Parameters& p);
std::unique_ptr<Codec> make_efsign(Parameters& p);
std::unique_ptr<Codec> make_onebit(Parameters& p);

}  // namespace weft::codec
