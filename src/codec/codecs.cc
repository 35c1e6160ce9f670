#include "codec/codecs.h"

#include <fmt/format.h>

#include "codec/dense_formats.h"
#include "codec/parameters.h"

namespace weft::codec {
namespace {

struct Entry {
  const char* name;
  const char* summary;
  std::unique_ptr<Codec> (*make)(Parameters&);
};

constexpr Entry kEntries[] = {
    {"none", "float32 as it is", &make_none},
    {"fp16", "IEEE half precision", &make_fp16},
    {"bf16", "bfloat16", &make_bf16},
    {"fp8", "8-bit floats (e4m3 or e5m2) in scaled blocks", &make_fp8},
    {"int8", "8-bit integers in scaled blocks", &make_int8},
    {"int4", "4-bit integers in scaled blocks", &make_int4},
    {"qsgd", "levels of a block's norm, rounded at random (QSGD)", &make_qsgd},
    {"terngrad", "-1, 0, 1 times a block's largest, rounded at random (TernGrad)", &make_terngrad},
    {"natural", "powers of two, rounded at random (natural compression)", &make_natural},
    {"sign", "one bit, no scale: a majority vote (signSGD)", &make_sign},
    {"efsign", "one bit and a block's mean magnitude (EF-signSGD)", &make_efsign},
    {"onebit", "one bit and two means per block (1-bit SGD)", &make_onebit},
};

}  // namespace

std::vector<CodecHelp> codec_list() {
  std::vector<CodecHelp> list;
  for (const Entry& entry : kEntries) {
    const std::unique_ptr<Codec> codec = make_codec(entry.name).value();
    const auto colon = codec->text().find(':');
    list.push_back({entry.name, codec->family(),
                    colon == std::string::npos ? "" : codec->text().substr(colon + 1),
                    entry.summary});
  }
  return list;
}

Result<std::unique_ptr<Codec>> make_codec(std::string_view text) {
  auto parameters = Parameters::parse(text);
  if (!parameters.ok()) return parameters.error();
  std::vector<std::string> names;
  for (const Entry& entry : kEntries) {
    if (parameters->name() == entry.name) {
      std::unique_ptr<Codec> codec = entry.make(*parameters);
      if (const Status status = parameters->end(); !status.ok()) return status.error();
      return codec;
    }
    names.emplace_back(entry.name);
  }
  const std::string near = near_miss(parameters->name(), names);
  return Error{ErrorKind::kNotFound,
               fmt::format("unknown codec '{}'{}", parameters->name(),
                           near.empty() ? "" : fmt::format("; did you mean '{}'?", near)),
               fmt::format("known: {}", fmt::join(names, ", "))};
}

}  // namespace weft::codec
