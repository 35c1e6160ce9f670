// Where the cells of a schedule lie in the memory of a call, for one slice of its data.
//
// The data of a call are parts: one vector (all-reduce, broadcast, reduce), or one part for each
// rank (the others). A slice is the same range of elements of every part and is a whole collective
// of its own, so that slices run beside each other, are ordered by need, and stay in the cache.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/program.h"

namespace weft::runtime {

// The number of elements that each pair exchanges, by source * ranks + destination.
using PairCounts = std::vector<std::uint64_t>;
inline constexpr std::size_t kPairSliceBytes = 128 << 10;  // of what a pair exchanges

class Layout {
 public:
  // `count` elements of `width` bytes: of the vector, or of a part. `pairs` is empty but for
  // all-to-all with amounts of their own. Requires: the program outlives the layout; slices > 0.
  Layout(const EndpointProgram& program, std::uint64_t count, std::size_t width,
         std::uint32_t slices, const PairCounts* pairs);

  // With amounts of their own, pairs send nothing where they have nothing.
  bool skips_empty() const { return pairs_ != nullptr; }
  std::uint32_t slices() const { return slices_; }
  std::size_t width() const { return width_; }

  struct Range {
    std::uint64_t first = 0;  // element of the buffer
    std::uint64_t count = 0;
  };
  // Elements of a cell in its buffer; scratch is laid out anew for every slice.
  // Requires: slice < slices().
  Range at(std::uint32_t slice, const Cell& cell) const;
  // Elements that the chunk has in the slice.
  std::uint64_t count_of(std::uint32_t slice, std::uint32_t chunk) const;
  // Elements of the slice in a part.
  Range slice(std::uint32_t slice) const { return slice_of(slice, count_); }
  // Bytes of scratch memory for one slice, and of the cells together.
  std::size_t scratch_bytes() const { return scratch_stride_ * program_->scratch_cells * width_; }
  std::size_t bytes_of(std::uint32_t slice, std::span<const Cell> cells) const;

 private:
  std::uint64_t edge(std::uint64_t length, std::uint64_t numerator,
                     std::uint64_t denominator) const;
  Range slice_of(std::uint32_t slice, std::uint64_t count) const;
  // The range of chunk j of `per_part_` in `length` elements.
  Range part_of(std::uint32_t j, std::uint64_t length) const;
  std::uint64_t pair_first(std::uint32_t cell, collective::Buffer buffer) const;

  const EndpointProgram* program_;
  std::uint64_t count_;
  std::size_t width_;
  std::uint32_t slices_;
  const PairCounts* pairs_;
  std::uint32_t per_part_ = 1;         // chunks in a part
  std::vector<std::uint64_t> before_;  // weight of the chunks of a part before each, when unequal
  std::uint64_t scratch_stride_ = 0;   // elements
};

// How many slices make every message at most `most` bytes and a slice at most `slice_bytes`, if
// that is not 0. Ensures: at least 1, at most kMostLiveSlices.
std::uint32_t slices_for(const EndpointProgram& program, std::uint64_t count, std::size_t width,
                         const PairCounts* pairs, std::size_t most, std::size_t slice_bytes);
inline constexpr std::uint32_t kMostLiveSlices = 1u << 20;

}  // namespace weft::runtime
