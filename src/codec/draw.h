// Random numbers by index: any rank, vector or scalar loop gets the same number for the same place
// without having drawn those before it.
#pragma once

#include <cstdint>

#include "codec/state.h"

namespace weft::codec {

// Two rounds of multiply and fold, a shortened form of the 32-bit mixers that Wellons' search found
// ("Prospecting for Hash Functions", 2018). Good enough to round with; not for secrets.
inline constexpr std::uint32_t kDrawFactor1 = 0x7FEB352D, kDrawFactor2 = 0x846CA68B;

inline std::uint32_t draw_word(std::uint32_t key, std::uint32_t index) {
  std::uint32_t x = (index + key) * kDrawFactor1;
  x ^= x >> 15;
  x *= kDrawFactor2;
  return x ^ (x >> 16);
}
// Uniform in [0, 1), a multiple of 2^-24.
inline float draw_unit(std::uint32_t key, std::uint32_t index) {
  return static_cast<float>(draw_word(key, index) >> 8) * 0x1p-24F;
}

// splitmix64 (Steele, Lea and Flood 2014): keys from what a step is.
inline std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

// The key of this step: alike on all ranks, or one of the rank's own.
inline std::uint64_t shared_key(const CodecState& state) {
  return mix(state.place.seed ^ mix(state.step));
}
inline std::uint64_t own_key(const CodecState& state) {
  return mix(shared_key(state) + state.place.rank);
}

}  // namespace weft::codec
