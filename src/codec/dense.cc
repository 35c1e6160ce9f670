#include "codec/dense.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "base/check.h"
#include "codec/draw.h"

namespace weft::codec {
namespace {

std::uint8_t* raw(std::byte* at) { return reinterpret_cast<std::uint8_t*>(at); }
const std::uint8_t* raw(const std::byte* at) { return reinterpret_cast<const std::uint8_t*>(at); }
std::size_t up(std::size_t n, std::size_t unit) { return (n + unit - 1) / unit * unit; }

// Room for one tile on its way.
struct TileRoom {
  alignas(64) std::array<float, kTile> values;
  alignas(64) std::array<float, kTile> floats;
  alignas(64) std::array<std::uint16_t, kTile> compact;
  alignas(64) std::array<float, kTile> scales;
  alignas(64) std::array<std::uint8_t, kTile * sizeof(float)> codes;
};

class DenseCodec : public OpaqueCodec {
 public:
  DenseCodec(std::string text, const DenseFormat& format)
      : OpaqueCodec(std::move(text)), loops_(format) {}

  CodecState make_state(std::size_t size, const Place& place) const override {
    CodecState state{text(), size, place, 0, {}, {}};
    state.keep(loops_.format().residual);
    return state;
  }
  Result<StateShape> shape_of_state(const CodecState&) const override {
    return StateShape{loops_.format().residual == ResidualForm::kNone ? 0U : 1U};
  }
  double wire_bytes(std::size_t size) const override {
    return static_cast<double>(loops_.bytes(size));
  }
  std::size_t most_bytes(std::size_t count) const override { return loops_.bytes(count); }
  Result<std::size_t> encode(std::span<const float> values, std::size_t first, CodecState& state,
                             std::span<std::byte> out) const override {
    CHECK(state.codec == text());
    state.keep(loops_.format().residual);
    auto bytes = loops_.encode(values, state.residual(first, values.size()),
                               static_cast<std::uint32_t>(own_key(state)), first, out);
    if (bytes.ok()) state.took_up(first, values.size());
    return bytes;
  }
  Status decode(std::span<const std::byte> bytes, std::span<float> out) const override {
    return loops_.decode(bytes, out, false);
  }
  Status decode_add(std::span<const std::byte> bytes, std::span<float> sum) const override {
    return loops_.decode(bytes, sum, true);
  }

 private:
  DenseLoops loops_;
};

// The tile as the kernels want it: padded with zeros, and what the residual carries along added to
// the values.
void make_room(DenseTile& tile, TileRoom& room) {
  const Residual whole = tile.residual;
  const bool carries = whole.compact != nullptr && whole.exact != nullptr;
  const std::size_t n = tile.count, more = tile.padded - n;
  if (more == 0 && !carries) return;
  for (std::size_t i = 0; i < n; ++i) {
    room.values[i] = carries ? tile.values[i] + whole.exact[i] : tile.values[i];
  }
  std::fill_n(room.values.begin() + n, more, 0.0F);
  tile.values = room.values.data();
  if (carries) tile.residual.exact = nullptr;
  if (more == 0 || !whole) return;
  if (whole.compact != nullptr) {
    std::fill_n(std::copy_n(whole.compact, n, room.compact.begin()), more, std::uint16_t{0});
    tile.residual.compact = room.compact.data();
  } else {
    std::fill_n(std::copy_n(whole.exact, n, room.floats.begin()), more, 0.0F);
    tile.residual.exact = room.floats.data();
  }
}

}  // namespace

// A buffer is its envelope, all scales, all codes. How long each is follows from the count alone.
DenseLoops::DenseLoops(const DenseFormat& format) : format_(format) {
  CHECK(format.rule.block >= kPadding && kTile % format.rule.block == 0);
}
std::size_t DenseLoops::scale_bytes(std::size_t count) const {
  return (count + rule().block - 1) / rule().block * rule().scales * sizeof(float);
}
std::size_t DenseLoops::code_bytes(std::size_t count) const {
  const std::size_t unit = rule().bits == 1 ? kRun : rule().bits <= 8 ? 256 / rule().bits : 1;
  return up(count, unit) * rule().bits / 8;
}
std::size_t DenseLoops::bytes(std::size_t count) const {
  return kEnvelopeBytes + scale_bytes(count) + code_bytes(count);
}
Envelope DenseLoops::envelope(std::size_t count) const {
  return {format_.id, static_cast<std::uint8_t>(rule().bits), rule().block, count};
}

Result<std::size_t> DenseLoops::encode(std::span<const float> values, const Residual& residual,
                                       std::uint32_t key, std::size_t first,
                                       std::span<std::byte> out) const {
  const std::size_t count = values.size(), total = bytes(count);
  CHECK(out.size() >= total);
  const DenseKernels& kernels = dense_kernels();
  const auto encode_tile = kernels.encode[static_cast<std::size_t>(rule().kind)];
  write_envelope(envelope(count), out.data());
  std::byte* scales = out.data() + kEnvelopeBytes;
  std::byte* codes = scales + scale_bytes(count);
  const bool streamed = code_bytes(count) >= kLeastStreamed;
  TileRoom room;
  for (std::size_t at = 0; at < count; at += kTile) {
    const std::size_t n = std::min(kTile, count - at), padded = up(n, kPadding);
    DenseTile tile{values.data() + at, residual.from(at), n, padded,
                   key + static_cast<std::uint32_t>(first + at)};
    make_room(tile, room);
    if (!encode_tile(rule(), tile, room.scales.data(), room.codes.data())) {
      return take_back(values, at, residual, out.data());
    }
    if (padded != n && residual) {
      for (std::size_t i = 0; i < n; ++i) residual.keep(at + i, tile.residual.kept(i));
    }
    std::memcpy(scales, room.scales.data(), scale_bytes(n));
    scales += scale_bytes(n);
    if (streamed) {
      kernels.stream(room.codes.data(), code_bytes(n), raw(codes));
    } else {
      std::memcpy(codes, room.codes.data(), code_bytes(n));
    }
    codes += code_bytes(n);
  }
  if (streamed) kernels.flush();
  return total;
}

template <class Use>
std::size_t DenseLoops::decode_tiles(const std::byte* from_bytes, std::size_t count,
                                     std::size_t until, const Use& use) const {
  const auto decode_tile = dense_kernels().decode[static_cast<std::size_t>(rule().kind)];
  const std::byte* scales = from_bytes + kEnvelopeBytes;
  const std::byte* codes = scales + scale_bytes(count);
  TileRoom room;
  for (std::size_t at = 0; at < until; at += kTile) {
    const std::size_t n = std::min(kTile, count - at), padded = up(n, kPadding);
    std::memcpy(room.scales.data(), scales, scale_bytes(n));
    scales += scale_bytes(n);
    const std::uint8_t* from = raw(codes);
    if (padded != n) {
      std::memcpy(room.codes.data(), codes, code_bytes(n));
      std::memset(room.codes.data() + code_bytes(n), 0, code_bytes(padded) - code_bytes(n));
      from = room.codes.data();
    }
    codes += code_bytes(n);
    if (!decode_tile(rule(), room.scales.data(), from, padded, room.values.data())) return at;
    use(at, n, room.values.data());
  }
  return until;
}

// Names the first value that cannot be sent. Tiles before `until` have been encoded: their residual
// gets back what was to be sent and loses the values, so that it is as before, up to rounding.
Error DenseLoops::take_back(std::span<const float> values, std::size_t until,
                            const Residual& residual, const std::byte* encoded) const {
  dense_kernels().flush();
  if (residual) {
    decode_tiles(encoded, values.size(), until,
                 [&](std::size_t at, std::size_t n, const float* sent) {
                   for (std::size_t j = 0; j < n; ++j) {
                     const std::size_t i = at + j;
                     const float given = values[i] + residual.carried(i);
                     residual.keep(i, (residual.kept(i) + sent[j]) - given);
                   }
                 });
  }
  std::size_t at = until;
  const auto sum = [&](std::size_t i) { return values[i] + residual.at(i); };
  while (std::abs(sum(at)) < rule().limit) ++at;
  return Error{
      ErrorKind::kInvalidInput,
      std::isfinite(values[at])
          ? fmt::format("value {} is {} and with its residual {}; this codec sends "
                        "magnitudes below {}",
                        at, values[at], sum(at), rule().limit)
          : fmt::format("value {} is {}; only finite gradients can be compressed", at, values[at]),
      "skip the step, lower the loss scale, or use bf16 or none"};
}

Status DenseLoops::decode(std::span<const std::byte> encoded, std::span<float> out,
                          bool add) const {
  const std::size_t count = out.size();
  if (const Status status = check_envelope(encoded, envelope(count)); !status.ok()) return status;
  if (encoded.size() != bytes(count)) {
    return Error{ErrorKind::kInvalidInput,
                 fmt::format("encoded gradient refused: {} values take {} bytes, not {}", count,
                             bytes(count), encoded.size()),
                 ""};
  }
  const DenseKernels& kernels = dense_kernels();
  const bool streamed = !add && count * sizeof(float) >= kLeastStreamed;
  const auto use = [&](std::size_t at, std::size_t n, const float* values) {
    float* to = out.data() + at;
    if (add) {
      kernels.add(values, n, to);
    } else if (streamed) {
      kernels.stream(reinterpret_cast<const std::uint8_t*>(values), n * sizeof(float),
                     reinterpret_cast<std::uint8_t*>(to));
    } else {
      std::copy_n(values, n, to);
    }
  };
  const std::size_t end = decode_tiles(encoded.data(), count, count, use);
  if (streamed) kernels.flush();
  if (end == count) return {};
  return Error{ErrorKind::kInvalidInput,
               fmt::format("encoded gradient refused: a scale or code among values {} to {} is out "
                           "of range",
                           end, std::min(end + kTile, count) - 1),
               ""};
}

std::unique_ptr<OpaqueCodec> make_dense(std::string text, const DenseFormat& format) {
  return std::make_unique<DenseCodec>(std::move(text), format);
}

}  // namespace weft::codec
