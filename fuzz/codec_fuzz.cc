// Whatever the bytes are, decoders give finite values or refuse, states are restored whole or
// refused, and texts make codecs that their own texts make again.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "codec/codecs.h"

namespace {

using namespace weft::codec;

// One of each layout. Made once: the target runs many thousand times.
const std::vector<std::unique_ptr<Codec>>& codecs() {
  static const std::vector<std::unique_ptr<Codec>> all = [] {
    std::vector<std::unique_ptr<Codec>> made;
    for (const char* text : {"none", "fp16", "bf16", "fp8", "fp8:format=e5m2", "int8", "int4",
                             "qsgd:bits=2", "terngrad", "natural", "sign", "efsign", "onebit",
                             "topk", "topk+int8", "dgc+efsign", "onebit-adam"}) {
      made.push_back(make_codec(text).value());
    }
    return made;
  }();
  return all;
}

void check_decoders(std::span<const std::byte> bytes) {
  // The count that the envelope claims, within reason, or another.
  std::size_t count = 100;
  if (bytes.size() >= 10) {
    count = std::to_integer<std::size_t>(bytes[8]) + 256 * std::to_integer<std::size_t>(bytes[9]);
  }
  std::vector<float> out(count), sum(count, 1.0F);
  for (const auto& codec : codecs()) {
    const bool set = codec->opaque()->decode(bytes, out).ok();
    CHECK(codec->opaque()->decode_add(bytes, sum).ok() == set);
    if (!set) continue;
    for (const float x : out) CHECK(std::isfinite(x));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data), size);
  check_decoders(bytes);
  if (const auto state = restore(bytes); state.ok()) {
    const std::vector<std::byte> again = save(*state);
    CHECK(std::equal(again.begin(), again.end(), bytes.begin(), bytes.end()));
  }
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto codec = make_codec(text); codec.ok()) {
    const auto again = make_codec((*codec)->text());
    CHECK(again.ok() && (*again)->text() == (*codec)->text());
  }
  return 0;
}
