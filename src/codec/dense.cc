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
    CHECK(format.rule.block >= kPadding && kTile % format.rule.block == 0);
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
    const std::size_t unit = rule().bits == 1 ? kRun : rule().bits <= 8 ? 256 / rule().bits : 1;
    return up(count, unit) * rule().bits / 8;
  }
  Envelope envelope(std::size_t count) const {
    return {format_.id, static_cast<std::uint8_t>(rule().bits), rule().block, count};
  }
  Status read(std::span<const std::byte> bytes, std::span<float> out, bool add) const;
  // Hands values [0, until) of a buffer of `count` to use(at, n, decoded), tile by tile.
  // Ensures: the place of the first tile that is not finite, else `until`.
  template <class Use>
  std::size_t decode_tiles(const std::byte* bytes, std::size_t count, std::size_t until,
                           const Use& use) const;
  Error take_back(std::span<const float> values, std::size_t until, float* residual,
                  const std::byte* bytes) const;

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
    const std::size_t n = std::min(kTile, count - at), padded = up(n, kPadding);
    DenseTile tile{values.data() + at, residual != nullptr ? residual + at : nullptr, n, padded,
                   key + static_cast<std::uint32_t>(first + at)};
    if (padded != n) {
      std::fill_n(std::copy_n(tile.values, n, room.values.begin()), padded - n, 0.0F);
      tile.values = room.values.data();
      if (residual != nullptr) {
        std::fill_n(std::copy_n(tile.residual, n, room.residual.begin()), padded - n, 0.0F);
        tile.residual = room.residual.data();
      }
    }
    if (!encode_tile(rule(), tile, room.scales.data(), room.codes.data())) {
      return take_back(values, at, residual, out.data());
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

template <class Use>
std::size_t DenseCodec::decode_tiles(const std::byte* bytes, std::size_t count, std::size_t until,
                                     const Use& use) const {
  const auto decode_tile = dense_kernels().decode[static_cast<std::size_t>(rule().kind)];
  const std::byte* scales = bytes + kEnvelopeBytes;
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
Error DenseCodec::take_back(std::span<const float> values, std::size_t until, float* residual,
                            const std::byte* bytes) const {
  dense_kernels().flush();
  if (residual != nullptr) {
    decode_tiles(bytes, values.size(), until,
                 [&](std::size_t at, std::size_t n, const float* sent) {
                   for (std::size_t i = 0; i < n; ++i) {
                     residual[at + i] = (residual[at + i] + sent[i]) - values[at + i];
                   }
                 });
  }
  std::size_t at = until;
  const auto sum = [&](std::size_t i) {
    return values[i] + (residual != nullptr ? residual[i] : 0.0F);
  };
  while (std::abs(sum(at)) < rule().limit) ++at;
  return Error{
      ErrorKind::kInvalidInput,
      std::isfinite(values[at])
          ? fmt::format("value {} is {} and with its residual {}; {} sends magnitudes "
                        "below {}",
                        at, values[at], sum(at), text(), rule().limit)
          : fmt::format("value {} is {}; only finite gradients can be compressed", at, values[at]),
      "skip the step, lower the loss scale, or use bf16 or none"};
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
  const std::size_t end = decode_tiles(bytes.data(), count, count, use);
  if (streamed) kernels.flush();
  if (end == count) return {};
  return Error{ErrorKind::kInvalidInput,
               fmt::format("encoded gradient refused: a scale or code among values {} to {} is out "
                           "of range",
                           end, std::min(end + kTile, count) - 1),
               ""};
}

}  // namespace

std::unique_ptr<OpaqueCodec> make_dense(std::string text, const DenseFormat& format) {
  return std::make_unique<DenseCodec>(std::move(text), format);
}

}  // namespace weft::codec
