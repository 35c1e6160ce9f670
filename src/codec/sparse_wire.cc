#include "codec/sparse_wire.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/check.h"
#include "codec/envelope.h"
#include "codec/sparse_kernels.h"

namespace weft::codec {
namespace {

std::size_t chunks_of(std::size_t count) { return (count + kChunk - 1) / kChunk; }
// Offsets are padded so that values begin at a multiple of four.
std::size_t offset_bytes(std::size_t kept) { return (kept * 2 + 3) / 4 * 4; }

Envelope envelope(std::size_t count, const OpaqueCodec* carrier) {
  return {WireId::kSparse, static_cast<std::uint8_t>(carrier != nullptr ? 1 : 0), kChunk, count};
}

Error refused(std::string what) {
  return Error{ErrorKind::kInvalidInput, "encoded gradient refused: " + std::move(what), ""};
}

}  // namespace

std::size_t most_sparse_bytes(std::size_t count, std::size_t most, const OpaqueCodec* carrier) {
  return kEnvelopeBytes + chunks_of(count) * 4 + offset_bytes(most) +
         (carrier != nullptr ? carrier->most_bytes(most) : most * sizeof(float));
}

Result<std::size_t> write_sparse(SparseValues& sparse, std::size_t count,
                                 const OpaqueCodec* carrier, const CodecState& state,
                                 std::span<std::byte> out) {
  const std::size_t kept = sparse.offsets.size();
  CHECK(sparse.counts.size() == chunks_of(count) && sparse.values.size() == kept);
  write_envelope(envelope(count, carrier), out.data());
  std::byte* at = out.data() + kEnvelopeBytes;
  if (!sparse.counts.empty()) std::memcpy(at, sparse.counts.data(), sparse.counts.size() * 4);
  at += sparse.counts.size() * 4;
  std::memset(at, 0, offset_bytes(kept));
  if (kept > 0) std::memcpy(at, sparse.offsets.data(), kept * 2);
  at += offset_bytes(kept);
  const auto used = static_cast<std::size_t>(at - out.data());
  if (carrier == nullptr) {
    if (kept > 0) std::memcpy(at, sparse.values.data(), kept * sizeof(float));
    return used + kept * sizeof(float);
  }
  CodecState fresh = carrier->make_state(kept, state.place);
  fresh.step = state.step;
  const auto body = carrier->encode(sparse.values, 0, fresh, out.subspan(used));
  if (!body.ok()) return body.error();
  const Status read = carrier->decode(out.subspan(used, *body), sparse.values);
  CHECK(read.ok());
  return used + *body;
}

Status read_sparse(std::span<const std::byte> bytes, const OpaqueCodec* carrier, bool add,
                   std::span<float> out) {
  const std::size_t count = out.size(), chunks = chunks_of(count);
  if (const Status head = check_envelope(bytes, envelope(count, carrier)); !head.ok()) return head;
  const std::span<const std::byte> rest = bytes.subspan(kEnvelopeBytes);
  if (rest.size() < chunks * 4) return refused("it ends within its counts");
  std::size_t kept = 0;
  for (std::size_t c = 0; c < chunks; ++c) {
    const auto here = load_as<std::uint32_t>(rest.data() + c * 4);
    if (here > std::min(kChunk, count - c * kChunk)) {
      return refused(fmt::format("chunk {} claims {} values", c, here));
    }
    kept += here;
  }
  const std::span<const std::byte> body = rest.subspan(chunks * 4);
  if (body.size() < offset_bytes(kept)) return refused("it ends within its offsets");
  const std::span<const std::byte> coded = body.subspan(offset_bytes(kept));
  if (carrier == nullptr && coded.size() != kept * sizeof(float)) {
    return refused(fmt::format("{} bytes for {} values", coded.size(), kept));
  }
  std::vector<float> values;
  if (carrier != nullptr) {
    values.resize(kept);  // no more than there are bytes of offsets
    if (const Status read = carrier->decode(coded, values); !read.ok()) return read;
  }
  const std::byte* floats =
      carrier != nullptr ? std::as_bytes(std::span(values)).data() : coded.data();
  if (!add && count > 0) std::memset(out.data(), 0, out.size_bytes());
  std::size_t i = 0;
  for (std::size_t c = 0; c < chunks; ++c) {
    const auto here = load_as<std::uint32_t>(rest.data() + c * 4);
    const std::size_t length = std::min(kChunk, count - c * kChunk);
    float* to = out.data() + c * kChunk;
    std::size_t least = 0;
    for (const std::size_t end = i + here; i < end; ++i) {
      // What comes later is far away: ask for it in time. (Any place is fine to ask for.)
      constexpr std::size_t kAhead = 48;
      if (i + kAhead < kept) {
        __builtin_prefetch(to + load_as<std::uint16_t>(body.data() + (i + kAhead) * 2), 1);
      }
      const std::size_t offset = load_as<std::uint16_t>(body.data() + i * 2);
      const auto value = load_as<float>(floats + i * sizeof(float));
      if (offset < least || offset >= length || !std::isfinite(value)) {
        return refused(fmt::format("chunk {} has value {} at {}", c, value, offset));
      }
      to[offset] += value;
      least = offset + 1;
    }
  }
  return {};
}

}  // namespace weft::codec
