#include "runtime/layout.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace weft::runtime {
namespace {

using collective::Buffer;

// floor(length * numerator / denominator) without overflow.
__extension__ using Wide = unsigned __int128;
std::uint64_t share(std::uint64_t length, std::uint64_t numerator, std::uint64_t denominator) {
  constexpr std::uint64_t kNarrow = std::uint64_t{1} << 32;
  if (length < kNarrow && numerator < kNarrow) return length * numerator / denominator;
  return static_cast<std::uint64_t>(Wide{length} * numerator / denominator);
}

bool by_rank(collective::Operation operation) {
  return operation == collective::Operation::kReduceScatter ||
         operation == collective::Operation::kAllGather ||
         operation == collective::Operation::kAllToAll;
}

std::uint32_t chunks_per_part(const EndpointProgram& program) {
  const auto chunks = static_cast<std::uint32_t>(program.chunks.count);
  if (program.operation == collective::Operation::kAllToAll) return 1;
  return by_rank(program.operation) ? chunks / static_cast<std::uint32_t>(program.ranks) : chunks;
}

}  // namespace

Layout::Layout(const EndpointProgram& program, std::uint64_t count, std::size_t width,
               std::uint32_t slices, const PairCounts* pairs)
    : program_(&program), count_(count), width_(width), slices_(slices), pairs_(pairs) {
  CHECK(slices > 0);
  per_part_ = std::max(chunks_per_part(program), 1u);
  if (!program.chunks.list.empty() && program.operation != collective::Operation::kAllToAll) {
    before_.push_back(0);
    for (std::uint32_t j = 0; j < per_part_; ++j) {
      before_.push_back(before_.back() + program.chunks.list[j]);
    }
  }
  if (program.scratch_cells == 0) return;
  for (std::int64_t c = 0; c < program.chunks.count; ++c) {
    scratch_stride_ = std::max(scratch_stride_, count_of(0, static_cast<std::uint32_t>(c)));
  }
  // Other slices and chunks may be longer by what rounding moves, twice.
  const std::uint64_t grain = std::max<std::uint64_t>(1, 64 / width);
  scratch_stride_ = (scratch_stride_ / grain + 4) * grain;
}

// Long ranges are cut where cache lines begin, for the sake of the vector code.
std::uint64_t Layout::edge(std::uint64_t length, std::uint64_t numerator,
                           std::uint64_t denominator) const {
  // Most calls have one slice or one chunk: the ends need no division.
  if (numerator == 0) return 0;
  if (numerator == denominator) return length;
  const std::uint64_t at = share(length, numerator, denominator);
  const std::uint64_t grain = std::max<std::uint64_t>(1, 64 / width_);
  if (length / denominator < 16 * grain) return at;
  return at / grain * grain;
}

Layout::Range Layout::slice_of(std::uint32_t slice, std::uint64_t count) const {
  if (pairs_ != nullptr) {
    // The two of a pair know nothing of others' amounts, so slices have one length for all.
    const std::uint64_t length = kPairSliceBytes / width_;
    const std::uint64_t from = std::min(count, slice * length);
    return {from, std::min(count, (slice + 1) * length) - from};
  }
  const std::uint64_t first = edge(count, slice, slices_);
  return {first, edge(count, slice + 1, slices_) - first};
}

Layout::Range Layout::part_of(std::uint32_t j, std::uint64_t length) const {
  const auto at = [&](std::uint32_t i) {
    if (before_.empty()) return edge(length, i, per_part_);
    return before_.back() == 0 ? 0 : edge(length, before_[i], before_.back());
  };
  const std::uint64_t first = at(j);
  return {first, at(j + 1) - first};
}

std::uint64_t Layout::count_of(std::uint32_t slice, std::uint32_t chunk) const {
  const std::uint64_t whole = pairs_ != nullptr ? (*pairs_)[chunk] : count_;
  return part_of(pairs_ != nullptr ? 0 : chunk % per_part_, slice_of(slice, whole).count).count;
}

std::uint64_t Layout::pair_first(std::uint32_t cell, Buffer buffer) const {
  const auto ranks = static_cast<std::uint32_t>(program_->ranks);
  const auto self = static_cast<std::uint32_t>(program_->endpoint);
  std::uint64_t first = 0;
  for (std::uint32_t other = 0; other < cell; ++other) {
    first += buffer == Buffer::kInput ? (*pairs_)[self * ranks + other]
                                      : (*pairs_)[other * ranks + self];
  }
  return first;
}

Layout::Range Layout::at(std::uint32_t slice, const Cell& cell) const {
  if (cell.buffer == Buffer::kScratch) {
    return {cell.index * scratch_stride_, count_of(slice, cell.chunk)};
  }
  if (pairs_ != nullptr) {
    const Range range = slice_of(slice, (*pairs_)[cell.chunk]);
    return {pair_first(cell.index, cell.buffer) + range.first, range.count};
  }
  const Range range = slice_of(slice, count_);
  const Range part = part_of(cell.index % per_part_, range.count);
  return {cell.index / per_part_ * count_ + range.first + part.first, part.count};
}

std::size_t Layout::bytes_of(std::uint32_t slice, std::span<const Cell> cells) const {
  std::uint64_t elements = 0;
  for (const Cell& cell : cells) elements += count_of(slice, cell.chunk);
  return static_cast<std::size_t>(elements) * width_;
}

std::uint32_t slices_for(const EndpointProgram& program, std::uint64_t count, std::size_t width,
                         const PairCounts* pairs, std::size_t most, std::size_t slice_bytes) {
  if (pairs != nullptr) {
    const std::uint64_t peak = pairs->empty() ? 0 : *std::max_element(pairs->begin(), pairs->end());
    const std::uint64_t length = kPairSliceBytes / width;
    return static_cast<std::uint32_t>(
        std::clamp<std::uint64_t>((peak + length - 1) / length, 1, kMostLiveSlices));
  }
  double all = static_cast<double>(count) * static_cast<double>(width);
  double largest = all * program.largest_message;
  if (by_rank(program.operation)) {
    largest *= program.ranks;
    all *= program.ranks;
    if (program.operation == collective::Operation::kAllToAll) largest *= program.ranks;
  }
  // Slices and cells are rounded to whole elements or cache lines, each up by less than one.
  const double room =
      static_cast<double>(most) -
      static_cast<double>(std::max<std::size_t>(64, width)) *
          static_cast<double>(2 + std::max<std::int64_t>(1, program.chunks.count / program.ranks));
  double slices = std::ceil(largest / std::max(room, static_cast<double>(width)));
  if (slice_bytes != 0)
    slices = std::max(slices, std::ceil(all / static_cast<double>(slice_bytes)));
  return static_cast<std::uint32_t>(std::clamp(slices, 1.0, static_cast<double>(kMostLiveSlices)));
}

}  // namespace weft::runtime
