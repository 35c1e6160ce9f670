// Arithmetic on raw buffers: the inner loops of every collective that reduces.
//
// Rules of the numbers, the same on every processor and wherever in a buffer an element stands:
//  - float16 and bfloat16 are computed in float32 and rounded to nearest, ties to even.
//  - Sums of integers wrap around.
//  - min and max: if b is NaN the result is b, else if a is NaN it is a, else b where b is truly
//    less (greater), else a. So a NaN is never lost, and of two zeros the first stays.
//  - A sum with a NaN is a NaN; which bits it has is not specified. The same holds for every
//    operation that makes a 16-bit NaN. All other results are exact to the bit.
//  - Denormals count, unless the calling thread has told its processor to flush them.
//
// Buffers need no alignment. A target may be the same buffer as a source but may not overlap one in
// any other way; two targets may not overlap. With a count of 0 pointers are not looked at.
// Cost: one pass. Thread-safety: no state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/data_type.h"

namespace weft::runtime {

// target[i] = a[i] op b[i] for `count` elements.
void combine(std::byte* target, const std::byte* a, const std::byte* b, std::size_t count,
             DataType type, ReduceOp op);

// The same result to two places: one to keep, one to pass on.
void combine_twice(std::byte* target1, std::byte* target2, const std::byte* a, const std::byte* b,
                   std::size_t count, DataType type, ReduceOp op);

// target = ((s0 op s1) op s2) … in the order given. 16-bit floats are summed in float32 and rounded
// once, so the result may differ from that of a chain of combine().
// Requires: at least one source.
void combine_many(std::byte* target, std::span<const std::byte* const> sources, std::size_t count,
                  DataType type, ReduceOp op);

// Divides every element, which ends an average. Integers are cut towards zero; 16-bit floats are
// divided in float32.
// Requires: divisor above 0.
void scale_down(std::byte* target, std::size_t count, DataType type, std::uint32_t divisor);

}  // namespace weft::runtime
