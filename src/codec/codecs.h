// The codecs by name.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "codec/codec.h"

namespace weft::codec {

// A line of help for each codec.
struct CodecHelp {
  std::string name;
  Family family = Family::kOpaque;
  std::string parameters;  // with their defaults, as in "block=256,ef=1"
  std::string summary;
};
std::vector<CodecHelp> codec_list();

// "int8", "int8:block=512,ef=0", "topk:rate=0.01+int8": the name, its parameters, and for sparse
// codecs what carries the values that were kept.
// Ensures: an unknown name or parameter, or a value out of range, is an error that names it, what
// is allowed, and the nearest known word.
Result<std::unique_ptr<Codec>> make_codec(std::string_view text);

}  // namespace weft::codec
