// The head of every encoded buffer: what it is, so that a reader can refuse what it cannot read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "base/result.h"

namespace weft::codec {

// These numbers travel: they never change, new ones go to the end.
enum class WireId : std::uint8_t {
  kFloat32 = 1,
  kFloat16,
  kBfloat16,
  kInt8,
  kInt4,
  kFloat8E4m3,
  kFloat8E5m2,
  kQsgd,
  kTernGrad,
  kNatural,
  kSign,
  kScaledSign,
  kOneBit,
  kSparse,
};

struct Envelope {
  WireId id = WireId::kFloat32;
  std::uint8_t bits = 32;       // of one code
  std::uint32_t parameter = 0;  // block length, or what else the codec needs to agree on
  std::uint64_t count = 0;      // values
};
inline constexpr std::size_t kEnvelopeBytes = 16;

// Requires: kEnvelopeBytes at `to`.
void write_envelope(const Envelope& envelope, std::byte* to);
// Reads the head and compares it with what the reader expects, which includes the count.
// Ensures: success only for an equal one; else an error that says what differs.
Status check_envelope(std::span<const std::byte> bytes, const Envelope& expected);

// Numbers at any address, in the byte order of x86 and ARM.
template <typename T>
T load_as(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}
template <typename T>
void store_as(T value, std::byte* to) {
  std::memcpy(to, &value, sizeof value);
}

}  // namespace weft::codec
