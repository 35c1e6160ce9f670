// Streams by a hash of what they carry.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/check.h"

namespace weft {

// A table with open addressing, linear probes and no marks for what was erased (Knuth, The Art of
// Computer Programming, volume 3, on deletion from linear probing): flows come and go millions of
// times per second, which is no work for an allocator. Keys should be hashes already.
class StreamIndex {
 public:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  // The stream filed under `key`, or kNone. Cost: O(1) expected, as of the others.
  std::uint32_t find(std::uint64_t key) const {
    if (size_ == 0) return kNone;
    return cells_[cell_of(key)].stream;
  }
  // Requires: nothing is filed under `key`; stream != kNone.
  void insert(std::uint64_t key, std::uint32_t stream) {
    if (2 * (size_ + 1) > cells_.size()) grow();
    Cell& cell = cells_[cell_of(key)];
    CHECK(cell.stream == kNone && stream != kNone);
    cell = {key, stream};
    ++size_;
  }
  // Requires: something is filed under `key`.
  void erase(std::uint64_t key) {
    CHECK(size_ > 0);
    std::size_t hole = cell_of(key);
    CHECK(cells_[hole].stream != kNone);
    const std::size_t mask = cells_.size() - 1;
    for (std::size_t at = (hole + 1) & mask; cells_[at].stream != kNone; at = (at + 1) & mask) {
      // An entry may move back unless its home lies between the hole and where it is.
      if (((at - home(cells_[at].key)) & mask) < ((at - hole) & mask)) continue;
      cells_[hole] = cells_[at];
      hole = at;
    }
    cells_[hole].stream = kNone;
    --size_;
  }
  std::size_t size() const { return size_; }

 private:
  struct Cell {
    std::uint64_t key = 0;
    std::uint32_t stream = kNone;
  };

  std::size_t home(std::uint64_t key) const {
    return static_cast<std::size_t>(key * 0x9e3779b97f4a7c15ULL >> shift_);
  }
  // Where `key` stands, or the empty cell where it would.
  std::size_t cell_of(std::uint64_t key) const {
    std::size_t at = home(key);
    while (cells_[at].stream != kNone && cells_[at].key != key) at = (at + 1) & (cells_.size() - 1);
    return at;
  }
  void grow() {
    const std::vector<Cell> old = std::exchange(cells_, {});
    if (!old.empty()) --shift_;
    cells_.resize(std::size_t{1} << (64 - shift_));
    for (const Cell& cell : old) {
      if (cell.stream != kNone) cells_[cell_of(cell.key)] = cell;
    }
  }

  std::vector<Cell> cells_;  // a power of two, at least half of them empty
  int shift_ = 60;           // 64 - log2 of the number of cells
  std::size_t size_ = 0;
};

}  // namespace weft
