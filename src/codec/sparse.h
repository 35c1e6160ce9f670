// Codecs that send few values, and keep the rest for later steps.
#pragma once

#include <memory>

#include "codec/codec.h"
#include "codec/parameters.h"

namespace weft::codec {

// `carrier` encodes the values that were chosen; null: they go as float32.
// Ensures: a codec, made with defaults where parameters were wrong; the caller looks at
// Parameters::end().
// It is shared because the codec of the way back has it too.
using Carrier = std::shared_ptr<const OpaqueCodec>;
std::unique_ptr<Codec> make_topk(Parameters& p, Carrier carrier);
std::unique_ptr<Codec> make_budget(Parameters& p, Carrier carrier);
std::unique_ptr<Codec> make_threshold(Parameters& p, Carrier carrier);
std::unique_ptr<Codec> make_dgc(Parameters& p, Carrier carrier);
std::unique_ptr<Codec> make_adacomp(Parameters& p, Carrier carrier);

}  // namespace weft::codec
