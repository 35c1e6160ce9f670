#include "codec/sparse_wire.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "base/check.h"
#include "codec/dense_kernels.h"
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

Error refused_sparse(std::string what) {
  return Error{ErrorKind::kInvalidInput, "encoded gradient refused: " + std::move(what), ""};
}

// The values of a buffer whose lengths have been checked, on their way to where they belong.
class Places {
 public:
  Places(const std::byte* counts, const std::byte* offsets, const std::byte* values,
         std::size_t kept)
      : counts_(counts), offsets_(offsets), values_(values), kept_(kept) {}

  Status fill(std::span<float> out) {
    std::fill(out.begin(), out.end(), 0.0F);
    return add_to(out);
  }
  Status add_to(std::span<float> out) {
    for (std::size_t c = 0; c < chunks_of(out.size()); ++c) {
      begin_chunk(c, out.size());
      float* to = out.data() + c * kChunk;
      while (at_ < end_) {
        // What comes later is far away: ask for it in time. (Any place is fine to ask for.)
        constexpr std::size_t kAhead = 48;
        if (at_ + kAhead < kept_) __builtin_prefetch(to + offset(at_ + kAhead), 1);
        if (!good()) return refuse(c);
        to[offset(at_)] += value();
        step();
      }
    }
    return {};
  }
  // Around the caches, from a room that stays in the nearest one.
  Status stream_to(std::span<float> out) {
    constexpr std::size_t kRoom = 4096;
    alignas(64) std::array<float, kRoom> room{};
    const DenseKernels& kernels = dense_kernels();
    for (std::size_t c = 0; c < chunks_of(out.size()); ++c) {
      begin_chunk(c, out.size());
      for (std::size_t from = 0; from < length_; from += kRoom) {
        const std::size_t n = std::min(kRoom, length_ - from), first = at_;
        while (at_ < end_ && offset(at_) < from + n) {
          if (!good()) return refuse(c);
          room[offset(at_) - from] = value();
          step();
        }
        kernels.stream(reinterpret_cast<const std::uint8_t*>(room.data()), n * sizeof(float),
                       reinterpret_cast<std::uint8_t*>(out.data() + c * kChunk + from));
        for (std::size_t i = first; i < at_; ++i) room[offset(i) - from] = 0;
      }
      if (at_ < end_) return refuse(c);
    }
    kernels.flush();
    return {};
  }

 private:
  std::size_t offset(std::size_t i) const { return load_as<std::uint16_t>(offsets_ + i * 2); }
  float value() const { return load_as<float>(values_ + at_ * sizeof(float)); }
  void begin_chunk(std::size_t c, std::size_t count) {
    end_ = at_ + load_as<std::uint32_t>(counts_ + c * 4);
    length_ = std::min(kChunk, count - c * kChunk);
    least_ = 0;
  }
  bool good() const {
    const std::size_t here = offset(at_);
    return here >= least_ && here < length_ && std::isfinite(value());
  }
  void step() { least_ = offset(at_++) + 1; }
  Error refuse(std::size_t c) const {
    dense_kernels().flush();
    return refused_sparse(fmt::format("chunk {} has value {} at {}", c, value(), offset(at_)));
  }

  const std::byte *counts_, *offsets_, *values_;
  std::size_t kept_, at_ = 0, end_ = 0;
  std::size_t length_ = 0, least_ = 0;  // of the chunk
};

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
  if (rest.size() < chunks * 4) return refused_sparse("it ends within its counts");
  std::size_t kept = 0;
  for (std::size_t c = 0; c < chunks; ++c) {
    const auto here = load_as<std::uint32_t>(rest.data() + c * 4);
    if (here > std::min(kChunk, count - c * kChunk)) {
      return refused_sparse(fmt::format("chunk {} claims {} values", c, here));
    }
    kept += here;
  }
  const std::span<const std::byte> body = rest.subspan(chunks * 4);
  if (body.size() < offset_bytes(kept)) return refused_sparse("it ends within its offsets");
  const std::span<const std::byte> coded = body.subspan(offset_bytes(kept));
  if (carrier == nullptr && coded.size() != kept * sizeof(float)) {
    return refused_sparse(fmt::format("{} bytes for {} values", coded.size(), kept));
  }
  std::vector<float> values;
  if (carrier != nullptr) {
    values.resize(kept);  // no more than there are bytes of offsets
    if (const Status read = carrier->decode(coded, values); !read.ok()) return read;
  }
  const std::byte* floats =
      carrier != nullptr ? std::as_bytes(std::span(values)).data() : coded.data();
  Places places{rest.data(), body.data(), floats, kept};
  if (add) return places.add_to(out);
  return out.size_bytes() >= kLeastStreamed ? places.stream_to(out) : places.fill(out);
}

}  // namespace weft::codec
