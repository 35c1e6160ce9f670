// Residuals of error feedback: what was not sent, as floats or in half as many bits.
//
// A compact residual keeps the upper 16 bits of each float. What it drops is rounded up or down at
// random, so that the mean is right: gradients too small to change it are not lost, they change it
// now and then.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace weft::codec {

enum class ResidualForm : std::uint8_t { kNone, kFloat32, kCompact };

// Values that are so many apart in a tile are rounded by the same random word (draw.h): that of
// the tile's key + (place in the tile) % kDithers.
inline constexpr std::size_t kDithers = 32;
inline constexpr std::uint32_t kToNearest = 0x8000;  // in place of a random word

// The lower 16 bits of the random word count.
inline std::uint16_t compact_of(float x, std::uint32_t draw) {
  return static_cast<std::uint16_t>((std::bit_cast<std::uint32_t>(x) + (draw & 0xFFFF)) >> 16);
}
inline float wide_of(std::uint16_t bits) { return std::bit_cast<float>(std::uint32_t{bits} << 16); }

// The residual of some values, as an encode finds and leaves it: the sum of both parts. `exact`
// alone is a residual of floats. Beside a compact one it is what was restored or spread and is
// still to be taken up: it is read, and forgotten once all has gone well.
struct Residual {
  float* exact = nullptr;
  std::uint16_t* compact = nullptr;

  explicit operator bool() const { return exact != nullptr || compact != nullptr; }
  Residual from(std::size_t i) const {
    return {exact != nullptr ? exact + i : nullptr, compact != nullptr ? compact + i : nullptr};
  }
  // The part that an encode writes, and the part that it only reads.
  float kept(std::size_t i) const {
    if (compact != nullptr) return wide_of(compact[i]);
    return exact != nullptr ? exact[i] : 0;
  }
  float carried(std::size_t i) const {
    return compact != nullptr && exact != nullptr ? exact[i] : 0;
  }
  float at(std::size_t i) const {
    return compact != nullptr && exact != nullptr ? exact[i] + kept(i) : kept(i);
  }
  void keep(std::size_t i, float x) const {
    if (compact != nullptr) {
      compact[i] = compact_of(x, kToNearest);
    } else {
      exact[i] = x;
    }
  }
};

}  // namespace weft::codec
