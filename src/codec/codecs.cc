#include "codec/codecs.h"

#include <fmt/format.h>

#include "codec/dense.h"
#include "codec/parameters.h"

namespace weft::codec {
namespace {

using Made = std::unique_ptr<Codec>;

struct Entry {
  const char* name;
  const char* summary;
  Made (*make)(Parameters&);
};

std::uint32_t block_of(Parameters& p, std::int64_t otherwise) {
  const auto block = static_cast<std::uint32_t>(p.integer("block", otherwise, kRun, kTile));
  if ((block & (block - 1)) == 0) return block;
  p.complain(fmt::format("{}: block is {}; it must be a power of two", p.name(), block));
  return static_cast<std::uint32_t>(otherwise);
}

Made plain(Parameters& p, WireId id, DenseKind kind, std::uint32_t bits) {
  DenseFormat format{id, {kind, bits, kTile, 0}, false};
  if (bits < 32) format.feedback = p.flag("ef", false);
  return make_dense(p.text(), format);
}

Made integer(Parameters& p, WireId id, DenseKind nearest, DenseKind random, std::uint32_t bits) {
  DenseFormat format{id, {nearest, bits, block_of(p, 256), 1}, false};
  if (p.word("round", "nearest", {"nearest", "random"}) == "random") format.rule.kind = random;
  format.feedback = p.flag("ef", true);
  return make_dense(p.text(), format);
}

constexpr Entry kEntries[] = {
    {"none", "float32 as it is",
     [](Parameters& p) { return plain(p, WireId::kFloat32, DenseKind::kFloat32, 32); }},
    {"fp16", "IEEE half precision",
     [](Parameters& p) { return plain(p, WireId::kFloat16, DenseKind::kFloat16, 16); }},
    {"bf16", "bfloat16",
     [](Parameters& p) { return plain(p, WireId::kBfloat16, DenseKind::kBfloat16, 16); }},
    {"int8", "blocks of 8-bit integers",
     [](Parameters& p) {
       return integer(p, WireId::kInt8, DenseKind::kInt8, DenseKind::kInt8Random, 8);
     }},
    {"int4", "blocks of 4-bit integers",
     [](Parameters& p) {
       return integer(p, WireId::kInt4, DenseKind::kInt4, DenseKind::kInt4Random, 4);
     }},
};

}  // namespace

std::vector<CodecHelp> codec_list() {
  std::vector<CodecHelp> list;
  for (const Entry& entry : kEntries) {
    const Made codec = make_codec(entry.name).value();
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
      Made codec = entry.make(*parameters);
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
