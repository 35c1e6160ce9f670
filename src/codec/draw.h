// Random numbers by index: any rank, vector or scalar loop gets the same number for the same place
// without having drawn those before it.
#pragma once

#include <cstdint>

#include "codec/state.h"

namespace weft::codec {

// Multiply, fold, multiply: the upper bits of what comes out are well mixed, the lower are not.
// Good enough to round with; not for secrets. (Factors of the search by Wellons, "Prospecting for
// Hash Functions", 2018.)
inline constexpr std::uint32_t kDrawFactor1 = 0x7FEB352D, kDrawFactor2 = 0x846CA68B;

inline std::uint32_t draw_word(std::uint32_t place) {
  const std::uint32_t x = place * kDrawFactor1;
  return (x ^ (x >> 15)) * kDrawFactor2;
}
// Uniform in [0, 1), a multiple of 2^-23.
inline float draw_unit(std::uint32_t place) {
  return static_cast<float>(draw_word(place) >> 9) * 0x1p-23F;
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
