// The bytes of every connection (docs/wire.md): a handshake in which both sides prove that they
// know the job's secret, then frames. Pure functions of bytes; nothing here reads a socket.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/net/bytes.h"
#include "runtime/net/secret.h"

namespace weft::runtime {

inline constexpr std::uint32_t kWireMagic = 0x54464557;  // "WEFT"
inline constexpr std::uint16_t kWireVersion = 1;
inline constexpr std::size_t kMostLabelBytes = 64;
inline constexpr std::size_t kFrameHeaderBytes = 8;
inline constexpr std::size_t kSealBytes = 16;             // that encryption adds to a body
inline constexpr std::size_t kMostFrameBytes = 16 << 20;  // no connection may allow more

enum class Purpose : std::uint8_t { kStore, kControl, kData };
inline constexpr int kPurposes = 3;
std::string_view name_of(Purpose purpose);

// Who speaks; what the side that connects says first.
struct Hello {
  std::uint16_t version = kWireVersion;
  Purpose purpose = Purpose::kControl;
  bool encrypt = false;  // frames are encrypted when either side wants it
  std::uint64_t job = 0;
  Nonce nonce = {};
  std::string label;  // of who speaks, at most kMostLabelBytes

  bool operator==(const Hello&) const = default;
};

// What the side that listens answers.
struct Challenge {
  std::uint16_t version = kWireVersion;
  bool encrypt = false;
  Nonce nonce = {};
  std::string label;

  bool operator==(const Challenge&) const = default;
};

// Longest forms, so that no more is ever kept of a stranger.
inline constexpr std::size_t kMostHelloBytes = 4 + 2 + 1 + 1 + 8 + 32 + 1 + kMostLabelBytes;
inline constexpr std::size_t kMostChallengeBytes = 4 + 2 + 1 + 32 + 1 + kMostLabelBytes;

// Requires: label.size() <= kMostLabelBytes.
std::string encode(const Hello& hello);
std::string encode(const Challenge& challenge);

enum class Parse { kMore, kDone, kBad };
// kMore: a longer string may be one; kBad: none that begins so is. kDone sets `out` and `used`.
Parse decode(ByteView bytes, Hello& out, std::size_t& used);
Parse decode(ByteView bytes, Challenge& out, std::size_t& used);

// Both cover every byte that was said, in the roles in which it was said.
Proof connector_proof(const Secret& secret, std::string_view hello, std::string_view challenge);
Proof listener_proof(const Secret& secret, std::string_view hello, std::string_view challenge);

// kind u16, zero u16, length u32 of what follows.
struct FrameHeader {
  std::uint16_t kind = 0;
  std::uint32_t length = 0;

  bool operator==(const FrameHeader&) const = default;
};
void encode(const FrameHeader& header, std::span<std::byte, kFrameHeaderBytes> out);
// Nothing when the spare bytes are set or the length is above `most`.
std::optional<FrameHeader> decode_frame(std::span<const std::byte, kFrameHeaderBytes> bytes,
                                        std::size_t most);

}  // namespace weft::runtime
