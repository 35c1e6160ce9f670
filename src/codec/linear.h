// Codecs whose numbers may be summed on their way, by any ring or tree.
#pragma once

#include <memory>

#include "codec/codec.h"
#include "codec/parameters.h"

namespace weft::codec {

// Ensures: a codec, made with defaults where parameters were wrong; the caller looks at
// Parameters::end().
std::unique_ptr<Codec> make_randomk(Parameters& p);
std::unique_ptr<Codec> make_scalecom(Parameters& p);
std::unique_ptr<Codec> make_sketch(Parameters& p);
std::unique_ptr<Codec> make_powersgd(Parameters& p);
std::unique_ptr<Codec> make_blocksparse(Parameters& p);
std::unique_ptr<Codec> make_thc(Parameters& p);

}  // namespace weft::codec
