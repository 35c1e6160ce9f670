#include "codec/envelope.h"

#include <fmt/core.h>

#include <bit>

namespace weft::codec {
namespace {

static_assert(std::endian::native == std::endian::little, "encoded numbers are little-endian");

constexpr std::uint8_t kEnvelopeMagic = 0xC7, kEnvelopeVersion = 1;

Error refused_envelope(std::string what) {
  return Error{ErrorKind::kInvalidInput, "encoded gradient refused: " + std::move(what),
               "all ranks must use the same codec and version"};
}

}  // namespace

void write_envelope(const Envelope& envelope, std::byte* to) {
  to[0] = std::byte{kEnvelopeMagic};
  to[1] = std::byte{kEnvelopeVersion};
  to[2] = static_cast<std::byte>(envelope.id);
  to[3] = static_cast<std::byte>(envelope.bits);
  store_as(envelope.parameter, to + 4);
  store_as(envelope.count, to + 8);
}

Status check_envelope(std::span<const std::byte> bytes, const Envelope& expected) {
  if (bytes.size() < kEnvelopeBytes) {
    return refused_envelope(
        fmt::format("{} bytes are fewer than its head of {}", bytes.size(), kEnvelopeBytes));
  }
  std::byte wanted[kEnvelopeBytes];
  write_envelope(expected, wanted);
  if (std::memcmp(bytes.data(), wanted, kEnvelopeBytes) == 0) return {};
  const auto number = [](std::byte b) { return std::to_integer<unsigned>(b); };
  static constexpr const char* kFields[] = {"mark", "version", "codec id", "bits"};
  for (std::size_t i = 0; i < 4; ++i) {
    if (bytes[i] == wanted[i]) continue;
    return refused_envelope(
        fmt::format("its {} is {}, expected {}", kFields[i], number(bytes[i]), number(wanted[i])));
  }
  const auto parameter = load_as<std::uint32_t>(bytes.data() + 4);
  if (parameter != expected.parameter) {
    return refused_envelope(
        fmt::format("its parameter is {}, expected {}", parameter, expected.parameter));
  }
  return refused_envelope(fmt::format("it holds {} values, expected {}",
                                      load_as<std::uint64_t>(bytes.data() + 8), expected.count));
}

}  // namespace weft::codec
