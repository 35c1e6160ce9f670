// What the linear codecs are built of.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "codec/codec.h"

namespace weft::codec {

// residual += values.  Ensures: an error that names the first value that is not finite, and the
// residual as before, up to rounding.
Status accumulate(std::span<const float> values, std::span<float> residual);
// The other way: residual -= values.  Ensures: what accumulate() was given, up to rounding.
void take_out(std::span<const float> values, std::span<float> residual);
// Success when all are finite; else an error that names the first that is not.
Status check_finite(std::span<const float> values);

// A state with one residual.
CodecState state_with_residual(const Codec& codec, std::size_t size, const Place& place);

// A round over a vector that the run owns.
template <typename Number>
Exchange exchange_of(std::vector<Number>& numbers, Element element, Combine combine) {
  return {element, combine, 0, std::as_writable_bytes(std::span(numbers)), numbers.size()};
}

// How many of `count` values a rate means: at least one where there are any.
std::size_t kept_of(double rate, std::size_t count);

}  // namespace weft::codec
