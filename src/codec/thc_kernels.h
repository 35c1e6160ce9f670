// The inner loops of THC over one block: rotation, codes on a shared grid, and back.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::codec {

// Code 0 stands for -top and code `levels` for top. A sum of codes of several ranks is offset by as
// many tops.
struct ThcGrid {
  float top = 0, levels = 1;
};

// Requires of all: count a power of two from 8 on.
struct ThcKernels {
  // values *= ±1 by draws of `key`, then the Walsh-Hadamard transform, scaled to keep norms.
  void (*rotate)(float* values, std::size_t count, std::uint32_t key);
  // The inverse.
  void (*rotate_back)(float* values, std::size_t count, std::uint32_t key);
  // The largest magnitude; what is not finite counts as the largest.
  float (*largest)(const float* values, std::size_t count);
  // Codes, to the nearest or, with `random`, up or down by draws of `key`; values become what their
  // codes stand for.
  void (*quantise)(const ThcGrid&, float* values, std::size_t count, std::uint32_t key, bool random,
                   std::uint8_t* codes);
  // What sums of codes of so many ranks stand for.
  void (*expand)(const ThcGrid&, const std::uint8_t* codes, std::size_t count, float ranks,
                 float* out);
};

// For this processor. Cost: some nanoseconds.
const ThcKernels& thc_kernels();

}  // namespace weft::codec
