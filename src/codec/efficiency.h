// What a codec does to the progress of training, where it was measured.
#pragma once

#include <optional>
#include <string>

#include "codec/codec.h"

namespace weft::codec {

// Steps of plain averaging to a loss, over steps with the codec to the same loss.
struct CodecEfficiency {
  double value = 1;
  std::string source;
};
// Nothing where nobody measured it with these parameters. It hangs on model, data and optimizer
// (docs/codecs.md, "Progress"). `adaptive`: the optimizer divides by the size that gradients had,
// as Adam does; nothing: not known, and the lesser of both counts.
std::optional<CodecEfficiency> codec_efficiency(const Codec& codec, std::optional<bool> adaptive);

}  // namespace weft::codec
