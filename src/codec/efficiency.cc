#include "codec/efficiency.h"

#include "base/check.h"
#include "codec/codecs.h"

namespace weft::codec {
namespace {

struct Row {
  const char* codec;
  double sgd, adaptive;  // docs/codecs.md, "Progress", says how they were measured
};
const Row kRows[] = {
    {"fp16", 1.00, 1.00},
    {"int8", 1.00, 1.00},
    {"int4", 1.00, 0.93},
    {"efsign", 0.73, 0.39},
    {"onebit", 0.77, 0.40},
    {"topk:rate=0.1", 0.83, 0.62},
    {"topk:rate=0.01", 0.46, 0.28},
    {"powersgd:rank=4", 0.90, 0.76},
    {"budget:rate=0.01", 0.47, 0.25},
};

std::string full_text(const char* text) {
  const auto codec = make_codec(text);
  CHECK(codec.ok());
  return (*codec)->text();
}

}  // namespace

std::optional<CodecEfficiency> codec_efficiency(const Codec& codec, std::optional<bool> adaptive) {
  if (codec.text() == "none") return CodecEfficiency{1, "the measure of the others"};
  for (const Row& row : kRows) {
    if (full_text(row.codec) != codec.text()) continue;
    const bool adam = adaptive.value_or(row.adaptive < row.sgd);
    return CodecEfficiency{adam ? row.adaptive : row.sgd,
                           adam ? "measured: a digits classifier with AdamW"
                                : "measured: a perceptron of 4 layers with SGD"};
  }
  return std::nullopt;
}

}  // namespace weft::codec
