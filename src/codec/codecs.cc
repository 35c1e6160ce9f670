#include "codec/codecs.h"

#include <fmt/ranges.h>

#include "base/check.h"
#include "codec/dense_formats.h"
#include "codec/linear.h"
#include "codec/onebit_adam.h"
#include "codec/parameters.h"
#include "codec/sparse.h"

namespace weft::codec {
namespace {

// A codec makes itself from its parameters; a sparse one also from what carries its values.
struct Entry {
  const char* name;
  const char* summary;
  std::unique_ptr<Codec> (*make)(Parameters&) = nullptr;
  std::unique_ptr<Codec> (*make_sparse)(Parameters&, Carrier) = nullptr;
  bool carries = false;  // may stand after '+'
};

constexpr Entry kEntries[] = {
    {"none", "float32 as it is", &make_none, nullptr, true},
    {"fp16", "IEEE half precision", &make_fp16, nullptr, true},
    {"bf16", "bfloat16", &make_bf16, nullptr, true},
    {"fp8", "8-bit floats (e4m3 or e5m2) in scaled blocks", &make_fp8, nullptr, true},
    {"int8", "8-bit integers in scaled blocks", &make_int8, nullptr, true},
    {"int4", "4-bit integers in scaled blocks", &make_int4, nullptr, true},
    {"qsgd", "levels of a block's norm, rounded at random (QSGD)", &make_qsgd, nullptr, true},
    {"terngrad", "-1, 0, 1 times a block's largest, rounded at random (TernGrad)", &make_terngrad,
     nullptr, true},
    {"natural", "powers of two, rounded at random (natural compression)", &make_natural, nullptr,
     true},
    {"sign", "one bit, no scale: a majority vote (signSGD)", &make_sign, nullptr, true},
    {"efsign", "one bit and a block's mean magnitude (EF-signSGD)", &make_efsign, nullptr, true},
    {"onebit", "one bit and two means per block (1-bit SGD)", &make_onebit, nullptr, true},
    {"topk", "the share of largest magnitudes, exact or by a sampled threshold", nullptr,
     &make_topk},
    {"budget", "the share of largest magnitudes of the whole model: one budget for all layers",
     nullptr, &make_budget},
    {"threshold", "every magnitude from a given one on", nullptr, &make_threshold},
    {"dgc", "top-k of the velocity, with momentum correction (DGC)", nullptr, &make_dgc},
    {"adacomp", "per bin, what comes near its largest (AdaComp)", nullptr, &make_adacomp},
    {"randomk", "places that all ranks draw alike", &make_randomk},
    {"scalecom", "places of the largest of one rank, in turn (ScaleCom)", &make_scalecom},
    {"sketch", "a count-sketch, then the exact sums of what is large in it", &make_sketch},
    {"powersgd", "a low-rank factorisation (PowerSGD)", &make_powersgd},
    {"blocksparse", "exact, without blocks that are 0 everywhere (OmniReduce)", &make_blocksparse},
    {"thc", "rotated, on a grid that all ranks share (THC)", &make_thc},
    {"onebit-adam", "Adam in the codec, its momentum in one bit (1-bit Adam)", &make_onebit_adam},
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

namespace {

Result<const Entry*> find(const std::string& name) {
  std::vector<std::string> names;
  for (const Entry& entry : kEntries) {
    if (name == entry.name) return &entry;
    names.emplace_back(entry.name);
  }
  const std::string near = near_miss(name, names);
  return Error{ErrorKind::kNotFound,
               fmt::format("unknown codec '{}'{}", name,
                           near.empty() ? "" : fmt::format("; did you mean '{}'?", near)),
               fmt::format("known: {}", fmt::join(names, ", "))};
}

// Makes the codec of one name; `carrier` may be null.
Result<std::unique_ptr<Codec>> make_one(std::string_view text, bool carries, Carrier carrier) {
  auto parameters = Parameters::parse(text, carries);
  if (!parameters.ok()) return parameters.error();
  const auto entry = find(parameters->name());
  if (!entry.ok()) return entry.error();
  if ((*entry)->make_sparse == nullptr && carrier != nullptr) {
    return Error{ErrorKind::kInvalidInput,
                 fmt::format("'{}' sends every value itself; only sparse codecs take '+{}'",
                             parameters->name(), carrier->text()),
                 "for example topk:rate=0.01+int8"};
  }
  if (carries && !(*entry)->carries) {
    return Error{ErrorKind::kInvalidInput,
                 fmt::format("'{}' cannot carry the values of another codec", parameters->name()),
                 "after '+' stands one that sends every value, such as int8"};
  }
  std::unique_ptr<Codec> codec = (*entry)->make_sparse != nullptr
                                     ? (*entry)->make_sparse(*parameters, std::move(carrier))
                                     : (*entry)->make(*parameters);
  if (const Status status = parameters->end(); !status.ok()) return status.error();
  return codec;
}

}  // namespace

Result<std::unique_ptr<Codec>> make_codec(std::string_view text) {
  const auto plus = text.find('+');
  if (plus == std::string_view::npos) return make_one(text, false, nullptr);
  auto inner = make_one(text.substr(plus + 1), true, nullptr);
  if (!inner.ok()) return inner.error();
  CHECK((*inner)->opaque() != nullptr);
  Carrier carrier(static_cast<OpaqueCodec*>(inner->release()));
  return make_one(text.substr(0, plus), false, std::move(carrier));
}

}  // namespace weft::codec
