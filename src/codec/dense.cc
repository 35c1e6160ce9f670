#include "codec/dense.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "base/check.h"
#include "codec/draw.h"

namespace weft::codec {
namespace {

// From here on buffers go around the caches: they would push out what is needed sooner.
constexpr std::size_t kLeastStreamed = 1 << 20;

std::uint8_t* raw(std::byte* at) { return reinterpret_cast<std::uint8_t*>(at); }
const std::uint8_t* raw(const std::byte* at) { return reinterpret_cast<const std::uint8_t*>(at); }
std::size_t up(std::size_t n, std::size_t unit) { return (n + unit - 1) / unit * unit; }

// A buffer is its envelope, all scales, all codes. How long each is follows from the count alone.
class DenseCodec : public OpaqueCodec {
 public:
  DenseCodec(std::string text, const DenseFormat& format)
      : OpaqueCodec(std::move(text)), format_(format) {
    CHECK(format.rule.block >= kRun && kTile % format.rule.block == 0);
  }

  CodecState make_state(std::size_t size, const Place& place) const override {
    CodecState state{text(), size, place, 0, {}, {}};
    if (format_.feedback) state.local.emplace_back(size, 0.0F);
    return state;
  }
  double wire_bytes(std::size_t size) const override {
    return static_cast<double>(most_bytes(size));
  }
  std::size_t most_bytes(std::size_t count) const override {
    return kEnvelopeBytes + scale_bytes(count) + code_bytes(count);
  }
  Result<std::size_t> encode(std::span<const float> values, std::size_t first, CodecState& state,
                             std::span<std::byte> out) const override;
  Status decode(std::span<const std::byte> bytes, std::span<float> out) const override {
    return read(bytes, out, false);
  }
  Status decode_add(std::span<const std::byte> bytes, std::span<float> sum) const override {
    return read(bytes, sum, true);
  }

 private:
  const DenseRule& rule() const { return format_.rule; }
  std::size_t scale_bytes(std::size_t count) const {
    return (count + rule().block - 1) / rule().block * rule().scales * sizeof(float);
  }
  std::size_t code_bytes(std::size_t count) const {
    return rule().bits >= 8 ? count * rule().bits / 8 : up(count, kRun) * rule().bits / 8;
  }
  Envelope envelope(std::size_t count) const {
    return {format_.id, static_cast<std::uint8_t>(rule().bits), rule().block, count};
  }
  Status read(std::span<const std::byte> bytes, std::span<float> out, bool add) const;
  Error refused(std::span<const float> values, std::size_t first, float* residual) const;

  DenseFormat format_;
};

// Room for one tile on its way.
struct TileRoom {
  alignas(64) std::array<float, kTile> values, residual;
  alignas(64) std::array<float, kTile> scales;
  alignas(64) std::array<std::uint8_t, kTile * sizeof(float)> codes;
};

Result<std::size_t> DenseCodec::encode(std::span<const float> values, std::size_t first,
                                       CodecState& state, std::span<std::byte> out) const {
  const std::size_t count = values.size(), bytes = most_bytes(count);
  CHECK(state.codec == text() && out.size() >= bytes);
  float* residual = state.residual(first, count);
  const DenseKernels& kernels = dense_kernels();
  const auto encode_tile = kernels.encode[static_cast<std::size_t>(rule().kind)];
  write_envelope(envelope(count), out.data());
  std::byte* scales = out.data() + kEnvelopeBytes;
  std::byte* codes = scales + scale_bytes(count);
  const bool streamed = code_bytes(count) >= kLeastStreamed;
  const auto key = static_cast<std::uint32_t>(own_key(state));
  TileRoom room;
  for (std::size_t at = 0; at < count; at += kTile) {
    const std::size_t n = std::min(kTile, count - at), padded = up(n, kRun);
    DenseTile tile{values.data() + at,
                   residual != nullptr ? residual + at : nullptr,
                   n,
                   padded,
                   key,
                   static_cast<std::uint32_t>(first + at)};
    if (padded != n) {
      std::fill_n(std::copy_n(tile.values, n, room.values.begin()), padded - n, 0.0F);
      tile.values = room.values.data();
      if (residual != nullptr) {
        std::fill_n(std::copy_n(tile.residual, n, room.residual.begin()), padded - n, 0.0F);
        tile.residual = room.residual.data();
      }
    }
    if (!encode_tile(rule(), tile, room.scales.data(), room.codes.data())) {
      return refused(values, at, residual);
    }
    if (padded != n && residual != nullptr) std::copy_n(room.residual.begin(), n, residual + at);
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
  return bytes;
}

// The first value at or after `from` that cannot be sent.
Error DenseCodec::refused(std::span<const float> values, std::size_t from, float* residual) const {
  std::size_t at = from;
  for (std::size_t i = from; i < values.size(); ++i) {
    const float v = values[i] + (residual != nullptr ? residual[i] : 0.0F);
    at = i;
    if (!std::isfinite(v)) break;
  }
  return Error{ErrorKind::kInvalidInput,
               fmt::format("{}: value {} is {}, which it cannot send", text(), at, values[at]), ""};
}

Status DenseCodec::read(std::span<const std::byte> bytes, std::span<float> out, bool add) const {
  const std::size_t count = out.size();
  if (const Status status = check_envelope(bytes, envelope(count)); !status.ok()) return status;
  if (bytes.size() != most_bytes(count)) {
    return Error{ErrorKind::kInvalidInput,
                 fmt::format("encoded gradient refused: {} values of {} take {} bytes, not {}",
                             count, text(), most_bytes(count), bytes.size()),
                 ""};
  }
  const DenseKernels& kernels = dense_kernels();
  const auto decode_tile = kernels.decode[static_cast<std::size_t>(rule().kind)];
  const std::byte* scales = bytes.data() + kEnvelopeBytes;
  const std::byte* codes = scales + scale_bytes(count);
  const bool streamed = !add && count * sizeof(float) >= kLeastStreamed;
  TileRoom room;
  for (std::size_t at = 0; at < count; at += kTile) {
    const std::size_t n = std::min(kTile, count - at), padded = up(n, kRun);
    std::memcpy(room.scales.data(), scales, scale_bytes(n));
    scales += scale_bytes(n);
    const std::uint8_t* from = raw(codes);
    if (padded != n) {
      std::memcpy(room.codes.data(), codes, code_bytes(n));
      std::memset(room.codes.data() + code_bytes(n), 0, code_bytes(padded) - code_bytes(n));
      from = room.codes.data();
    }
    codes += code_bytes(n);
    if (!decode_tile(rule(), room.scales.data(), from, padded, room.values.data())) {
      return Error{
          ErrorKind::kInvalidInput,
          fmt::format("encoded gradient refused: not finite among values {} to {}", at, at + n - 1),
          ""};
    }
    if (add) {
      kernels.add(room.values.data(), n, out.data() + at);
    } else if (streamed) {
      kernels.stream(reinterpret_cast<const std::uint8_t*>(room.values.data()), n * sizeof(float),
                     reinterpret_cast<std::uint8_t*>(out.data() + at));
    } else {
      std::copy_n(room.values.begin(), n, out.data() + at);
    }
  }
  if (streamed) kernels.flush();
  return {};
}

}  // namespace

std::unique_ptr<OpaqueCodec> make_dense(std::string text, const DenseFormat& format) {
  return std::make_unique<DenseCodec>(std::move(text), format);
}

}  // namespace weft::codec
