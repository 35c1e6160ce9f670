// Whatever the bytes are, decoders give finite values or refuse, states that are restored serve
// their codec and can be saved again, and texts make codecs that their own texts make again.
#include <algorithm>
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
                             "topk", "topk+int8", "budget", "dgc+efsign", "onebit-adam"}) {
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

void use_opaque(const OpaqueCodec& codec, std::vector<float>& values, CodecState& state) {
  // In two parts, as ranks do.
  const std::size_t half = values.size() / 2;
  for (const auto& [first, count] :
       {std::pair{std::size_t{0}, half}, {half, values.size() - half}}) {
    std::vector<std::byte> bytes(codec.most_bytes(count));
    const std::span<float> part = std::span(values).subspan(first, count);
    const auto used = codec.encode(part, first, state, bytes);
    if (!used.ok()) continue;
    CHECK(codec.decode(std::span(bytes).first(*used), part).ok());
  }
}

void use_linear(const LinearCodec& codec, std::vector<float>& values, CodecState& state) {
  auto run = codec.begin(values, state);
  if (!run.ok()) return;
  while (!(*run)->done()) {
    (*run)->exchange();
    if (!(*run)->next().ok()) return;
  }
  (*run)->finish(values);
}

// Two steps; after each, whether it went well or not, the state can be saved and restored.
void use_state(const Codec& codec, CodecState state) {
  state.step %= 1000;  // after the last step that a state may have there is none
  for (const float scale : {1.0F, 1e30F}) {
    std::vector<float> values(state.size);
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = scale * (static_cast<float>(i % 17) - 7.5F);
    }
    if (codec.opaque() != nullptr) {
      use_opaque(*codec.opaque(), values, state);
    } else {
      use_linear(*codec.linear(), values, state);
    }
    for (const float x : values) CHECK(std::isfinite(x));
    codec.settle(values, state);
    const auto again = restore(save(state));
    CHECK(again.ok() && codec.check(*again).ok());
  }
}

void check_state(std::span<const std::byte> bytes) {
  constexpr std::size_t kMost = 20000;
  const auto state = restore(bytes);
  if (!state.ok()) return;
  const std::vector<std::byte> again = save(*state);
  CHECK(std::equal(again.begin(), again.end(), bytes.begin(), bytes.end()));
  // Also of the codec of the way back, which no text makes by itself.
  constexpr std::string_view kBack = "/back";
  const auto back = state->codec.find(kBack);
  std::string text = state->codec;
  if (back != std::string::npos) text.erase(back, kBack.size());
  const auto codec = make_codec(text);
  if (!codec.ok() || state->size > kMost) return;
  if ((*codec)->check(*state).ok()) use_state(**codec, *state);
  const OpaqueCodec* opaque = (*codec)->opaque();
  if (back != std::string::npos && opaque != nullptr && opaque->back().check(*state).ok()) {
    use_state(opaque->back(), *state);
  }
}

// The bytes as the numbers of a state that has the right shape: few mutations of a whole state do.
void check_numbers(std::span<const std::byte> bytes) {
  static const std::vector<std::unique_ptr<Codec>> all = [] {
    std::vector<std::unique_ptr<Codec>> made;
    for (const char* text : {"fp16:ef=1",
                             "bf16:ef=1",
                             "fp8",
                             "int8",
                             "int4",
                             "qsgd:ef=1",
                             "natural:ef=1",
                             "efsign",
                             "onebit",
                             "topk:rate=0.3+fp16",
                             "threshold+int8",
                             "dgc:rate=0.3",
                             "dgc:masking=1+fp16",
                             "adacomp:bin=8",
                             "adacomp:bin=8+bf16",
                             "onebit-adam:warmup=1",
                             "randomk:rate=0.3",
                             "scalecom:rate=0.3",
                             "sketch:rate=0.3",
                             "thc:block=8",
                             "powersgd:rank=1"}) {
      made.push_back(make_codec(text).value());
    }
    return made;
  }();
  if (bytes.size() < 2) return;
  const Codec& codec = *all[std::to_integer<std::size_t>(bytes[0]) % all.size()];
  CodecState state = widened(codec.make_state(std::to_integer<std::size_t>(bytes[1]) % 80, {}));
  bytes = bytes.subspan(2);
  for (auto* vectors : {&state.local, &state.shared}) {
    for (std::vector<float>& vector : *vectors) {
      const std::size_t size = std::min(bytes.size() / sizeof(float), vector.size());
      std::copy_n(bytes.data(), size * sizeof(float),
                  std::as_writable_bytes(std::span(vector)).data());
      bytes = bytes.subspan(size * sizeof(float));
    }
  }
  const auto restored = restore(save(state));
  if (restored.ok() && codec.check(*restored).ok()) use_state(codec, *restored);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data), size);
  check_decoders(bytes);
  check_state(bytes);
  check_numbers(bytes);
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto codec = make_codec(text); codec.ok()) {
    const auto again = make_codec((*codec)->text());
    CHECK(again.ok() && (*again)->text() == (*codec)->text());
  }
  return 0;
}
