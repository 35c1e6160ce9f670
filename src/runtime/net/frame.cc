#include "runtime/net/frame.h"

#include <algorithm>
#include <array>

namespace weft::runtime {
namespace {

constexpr std::uint8_t kEncryptFlag = 1;

std::span<const std::uint8_t> octets(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

Proof proof_of(const Secret& secret, std::string_view role, std::string_view hello,
               std::string_view challenge) {
  const std::array<std::span<const std::uint8_t>, 2> parts = {octets(hello), octets(challenge)};
  return prove(secret, role, parts);
}

void put_label(ByteWriter& writer, const std::string& label) {
  CHECK(label.size() <= kMostLabelBytes);
  writer.put(static_cast<std::uint8_t>(label.size()));
  writer.put_bytes(label);
}

// What both messages begin with. Whatever can be judged is judged before the rest arrives.
Parse check_start(ByteView bytes) {
  std::string start(6, '\0');
  std::memcpy(start.data(), &kWireMagic, 4);
  std::memcpy(start.data() + 4, &kWireVersion, 2);
  const std::size_t size = std::min(bytes.size(), start.size());
  if (size > 0 && std::memcmp(bytes.data(), start.data(), size) != 0) return Parse::kBad;
  return size < start.size() ? Parse::kMore : Parse::kDone;
}

// The label ends both messages: its length byte stands at `at`.
Parse check_length(ByteView bytes, std::size_t at) {
  if (bytes.size() <= at) return Parse::kMore;
  const auto length = static_cast<std::size_t>(bytes[at]);
  if (length > kMostLabelBytes) return Parse::kBad;
  return bytes.size() < at + 1 + length ? Parse::kMore : Parse::kDone;
}

Parse check_whole(ByteView bytes, std::size_t label_at) {
  const Parse start = check_start(bytes);
  return start == Parse::kDone ? check_length(bytes, label_at) : start;
}

}  // namespace

std::string_view name_of(Purpose purpose) {
  switch (purpose) {
    case Purpose::kStore:
      return "store";
    case Purpose::kControl:
      return "control";
    case Purpose::kData:
      return "data";
  }
  return "an unknown purpose";
}

std::string encode(const Hello& hello) {
  ByteWriter writer;
  writer.put(kWireMagic);
  writer.put(hello.version);
  writer.put(hello.purpose);
  writer.put(hello.encrypt ? kEncryptFlag : std::uint8_t{0});
  writer.put(hello.job);
  writer.put_bytes(hello.nonce);
  put_label(writer, hello.label);
  return writer.take();
}

std::string encode(const Challenge& challenge) {
  ByteWriter writer;
  writer.put(kWireMagic);
  writer.put(challenge.version);
  writer.put(challenge.encrypt ? kEncryptFlag : std::uint8_t{0});
  writer.put_bytes(challenge.nonce);
  put_label(writer, challenge.label);
  return writer.take();
}

Parse decode(ByteView bytes, Hello& out, std::size_t& used) {
  if (const Parse whole = check_whole(bytes, 48); whole != Parse::kDone) return whole;
  ByteReader reader(bytes);
  reader.get<std::uint32_t>();
  out.version = reader.get<std::uint16_t>();
  const auto purpose = reader.get<std::uint8_t>();
  const auto flags = reader.get<std::uint8_t>();
  if (purpose >= kPurposes || flags > kEncryptFlag) return Parse::kBad;
  out.purpose = static_cast<Purpose>(purpose);
  out.encrypt = flags == kEncryptFlag;
  out.job = reader.get<std::uint64_t>();
  reader.get_bytes(out.nonce);
  out.label = reader.get_text(reader.get<std::uint8_t>());
  CHECK(reader.ok());
  used = bytes.size() - reader.left();
  return Parse::kDone;
}

Parse decode(ByteView bytes, Challenge& out, std::size_t& used) {
  if (const Parse whole = check_whole(bytes, 39); whole != Parse::kDone) return whole;
  ByteReader reader(bytes);
  reader.get<std::uint32_t>();
  out.version = reader.get<std::uint16_t>();
  const auto flags = reader.get<std::uint8_t>();
  if (flags > kEncryptFlag) return Parse::kBad;
  out.encrypt = flags == kEncryptFlag;
  reader.get_bytes(out.nonce);
  out.label = reader.get_text(reader.get<std::uint8_t>());
  CHECK(reader.ok());
  used = bytes.size() - reader.left();
  return Parse::kDone;
}

Proof connector_proof(const Secret& secret, std::string_view hello, std::string_view challenge) {
  return proof_of(secret, "weft connector", hello, challenge);
}

Proof listener_proof(const Secret& secret, std::string_view hello, std::string_view challenge) {
  return proof_of(secret, "weft listener", hello, challenge);
}

void encode(const FrameHeader& header, std::span<std::byte, kFrameHeaderBytes> out) {
  const std::uint16_t zero = 0;
  std::memcpy(out.data(), &header.kind, 2);
  std::memcpy(out.data() + 2, &zero, 2);
  std::memcpy(out.data() + 4, &header.length, 4);
}

std::optional<FrameHeader> decode_frame(std::span<const std::byte, kFrameHeaderBytes> bytes,
                                        std::size_t most) {
  ByteReader reader(bytes);
  FrameHeader header;
  header.kind = reader.get<std::uint16_t>();
  const auto spare = reader.get<std::uint16_t>();
  header.length = reader.get<std::uint32_t>();
  if (spare != 0 || header.length > most) return std::nullopt;
  return header;
}

}  // namespace weft::runtime
