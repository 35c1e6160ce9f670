// Whatever the bytes are, letters between ranks and saved states of buckets are refused or sound:
// states that are read serve their codec, on as many ranks as before or on others.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/check.h"
#include "codec/codecs.h"
#include "runtime/compress/bucket_state.h"
#include "runtime/compress/letter.h"
#include "sync/replica.h"

namespace {

using namespace weft;
using namespace weft::runtime;

const std::vector<std::unique_ptr<codec::Codec>>& codecs() {
  static const std::vector<std::unique_ptr<codec::Codec>> all = [] {
    std::vector<std::unique_ptr<codec::Codec>> made;
    for (const char* text :
         {"sign", "int8", "topk:rate=0.5", "dgc:rate=0.5", "onebit-adam", "randomk:rate=0.5",
          "scalecom:rate=0.5", "powersgd:rank=1", "blocksparse", "thc:block=8"}) {
      made.push_back(codec::make_codec(text).value());
    }
    return made;
  }();
  return all;
}

void check_letter(std::span<const std::byte> bytes) {
  const auto body = read_letter(bytes);
  if (!body.ok()) return;
  CHECK(body->size() + sizeof(std::uint64_t) <= bytes.size());
  std::vector<std::byte> room(letter_room(body->size()));
  const std::size_t used = write_letter(room, [&](std::span<std::byte> to) {
    std::copy(body->begin(), body->end(), to.begin());
    return Result<std::size_t>(body->size());
  });
  CHECK(read_letter(std::span(room).first(used))->size() == body->size());
}

// What a step does with a bucket: a part for every rank, and this rank's part back.
void use_opaque(const codec::OpaqueCodec& codec, BucketState& state) {
  const auto part = [&](std::uint32_t rank) {
    return sync::part_of(state.sent.size, state.sent.place.ranks, rank);
  };
  const std::vector<float> values(part(0).size, 1.5F);
  std::vector<std::byte> bytes(codec.most_bytes(part(0).size));
  for (std::uint32_t rank = 0; rank < state.sent.place.ranks; ++rank) {
    const auto [from, size] = part(rank);
    (void)codec.encode(std::span(values).first(size), from, state.sent, bytes);
  }
  CHECK(state.back && state.back->size == part(state.sent.place.rank).size);
  bytes.resize(codec.back().most_bytes(part(0).size));
  (void)codec.back().encode(std::span(values).first(state.back->size), 0, *state.back, bytes);
}

void use_linear(const codec::LinearCodec& codec, codec::CodecState& state) {
  const std::vector<float> values(state.size, 1.5F);
  auto run = codec.begin(values, state);
  while (run.ok() && !(*run)->done()) {
    (*run)->exchange();
    if (!(*run)->next().ok()) return;
  }
}

void use(const codec::Codec& codec, BucketStates states) {
  constexpr std::size_t kMost = 20000;
  for (auto& [number, state] : states) {
    if (state.sent.size > kMost) continue;  // of a codec that keeps nothing
    state.sent.step %= 1000;                // after the last step that may be there is none
    if (codec.opaque() != nullptr) {
      use_opaque(*codec.opaque(), state);
    } else {
      use_linear(*codec.linear(), state.sent);
    }
    std::vector<float> mean(state.sent.size);
    codec.settle(mean, state.sent);
  }
  const std::string again = save_states(codec, states);
  CHECK(load_states(codec, std::as_bytes(std::span(again))).ok());
}

void check_states(const codec::Codec& codec, std::span<const std::byte> bytes) {
  const auto states = load_states(codec, bytes);
  if (!states.ok()) return;
  if (states->empty()) return;
  const std::string again = save_states(codec, *states);
  const auto same = load_states(codec, std::as_bytes(std::span(again)));
  CHECK(same.ok() && save_states(codec, *same) == again);
  // Alone, with itself, and on as many ranks as it says there are.
  const codec::Place was = states->begin()->second.sent.place;
  for (const auto& [copies, ranks] : {std::pair{1, 1U}, {1, 3U}, {2, 2U}}) {
    const std::vector<BucketStates> old(static_cast<std::size_t>(copies), *states);
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      auto mine = spread_states(codec, old, {rank, ranks, was.seed});
      if (mine.ok()) use(codec, std::move(*mine));
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data), size);
  check_letter(bytes);
  for (const auto& codec : codecs()) check_states(*codec, bytes);
  return 0;
}
